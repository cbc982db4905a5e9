"""Many trainings under many layouts in the same processes, since to start them is what costs.

    torchrun --nproc-per-node N -m tests.engine.layouts CASES_JSON

A case names a stage file, at which iteration to stop, and a fault to make on purpose.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.frameworks.native.stages import PATIENT_THREADS
from engine.plan import Layout
from engine.stage_file import StageFile
from tests.engine import native


def layout(devices: int, tensor: int = 1, pipeline: int = 1, zero: int = 0) -> Layout:
    return Layout(
        devices=devices,
        tensor_parallel_size=tensor,
        pipeline_parallel_size=pipeline,
        data_parallel_size=devices // (tensor * pipeline),
        zero_stage=zero,
    )


OF_TWO = [layout(2, tensor=2), layout(2, pipeline=2), *(layout(2, zero=stage) for stage in range(4))]
OF_FOUR = [
    layout(4),
    layout(4, tensor=2, pipeline=2),
    *(layout(4, tensor=2, zero=stage) for stage in (0, 1, 3)),
    *(layout(4, pipeline=2, zero=stage) for stage in (0, 2, 3)),
]


def called(one: Layout) -> str:
    """A name for a folder: tp1-pp2-dp2-zero3."""
    sizes = f"tp{one.tensor_parallel_size}-pp{one.pipeline_parallel_size}-dp{one.data_parallel_size}"
    return f"{sizes}-zero{one.zero_stage}"


@dataclass(frozen=True)
class Case:
    stage: str
    stop_at: int | None = None
    fault: str | None = None


class Ending(native.Emitter):
    """Sends this one process a SIGTERM; it and its peers stop in the iteration after."""

    def __init__(self, path: Path, at: int | None) -> None:
        super().__init__(path)
        self._at = at

    def emit(self, kind: Any, rank: int = 0, **data: Any) -> None:
        super().emit(kind, rank, **data)
        if kind == "metric" and self._at is not None and data["iteration"] == self._at - 1:
            signal.raise_signal(signal.SIGTERM)


def run_case(case: Case) -> None:
    from engine.training.__main__ import train
    from engine.training.stop import StopRequest
    from engine.training.world import alone, among_peers

    file, stop = StageFile.read(case.stage), StopRequest()
    world = alone(file.layout) if file.layout.devices == 1 else among_peers(file.layout)
    emitter = Ending(file.folder.stage("train") / "emitted.jsonl", case.stop_at)
    before = signal.getsignal(signal.SIGTERM)
    stop.listen()
    with wrong(case.fault), contextlib.suppress(native.Stopped):
        train(file, emitter, world, stop)
        assert case.stop_at is None
    signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def wrong(fault: str | None) -> Any:
    """One gradient sum left out."""
    from engine.training import gradients
    from engine.training.splitting import shards

    if fault is None:
        yield
        return
    home = {"_sum_together": shards, "_sum_tied": gradients}[fault]
    whole = getattr(home, fault)
    setattr(home, fault, lambda *_: None)
    try:
        yield
    finally:
        setattr(home, fault, whole)


def prepared(run: Path, data: Path, model: Path, one: Layout, **options: Any) -> StageFile:
    """A run folder whose data are preprocessed already."""
    file = native.stage_file(run, "train", model, layout=one, **options)
    shutil.copytree(data, file.folder.data, dirs_exist_ok=True)
    return file


def case(file: StageFile, stop_at: int | None = None, fault: str | None = None) -> Case:
    """The stage file is kept aside: another case may go on in the same folder under another layout."""
    place = file.folder.path / f"{called(file.layout)}.json"
    place.write_text(file.model_dump_json(), encoding="utf-8")
    return Case(str(place), stop_at, fault)


def run_together(processes: int, cases: Sequence[Case], place: Path) -> None:
    """Raises AssertionError with the output if a process fails."""
    place.write_text(json.dumps([asdict(one) for one in cases]), encoding="utf-8")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    done = subprocess.run(
        [sys.executable, *launcher, "-m", "tests.engine.layouts", str(place)],
        cwd=native.ROOT,
        env=os.environ | PATIENT_THREADS | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"


def main() -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for one in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        try:
            run_case(Case(**one))
        except Exception as error:
            raise AssertionError(one) from error
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
