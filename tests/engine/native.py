"""Stages of the native framework on a tiny model, in this process or in their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from engine.events import EMIT_VARIABLE, Emitter
from engine.failures import Stopped
from engine.frameworks.native.stages import PATIENT_THREADS
from engine.plan import Batch, Layout
from engine.preprocess.store import TokenStore, opened
from engine.samples import STATION_MASTER
from engine.spec import JobSpec
from engine.stage_file import StageFile

__all__ = ["Emitter", "Stopped"]

ROOMS = {"preprocess": "engine.preprocess", "train": "engine.training", "export": "engine.weights"}
ROOT = Path(__file__).parents[2]


def stage_file(
    run: Path, name: str, model: Path, /, devices: int = 1, layout: Layout | None = None, **train: Any
) -> StageFile:
    """A stage with small defaults; `train` overrides fields of the spec's train part."""
    layout = layout or Layout(devices=devices, data_parallel_size=devices)
    options: dict[str, Any] = {
        "stage": "sft",
        "strategy": "full",
        "dataset": {"path": str(STATION_MASTER), "format": "alpaca"},
        "seq_length": 64,
        "micro_batch_size": 4,
        "global_batch_size": 8,
        "train_iters": 6,
        "learning_rate": 1e-3,
        **train,
    }
    spec = JobSpec.model_validate(
        {
            "name": "test",
            "model": "tiny-llama",
            "model_path": str(model),
            "framework": "native",
            "hardware": "cpu",
            "devices": layout.devices,
            "train": options,
        }
    )
    micro, whole = options["micro_batch_size"], options["global_batch_size"]
    batch = Batch(
        micro_batch_size=micro,
        global_batch_size=whole,
        gradient_accumulation_steps=whole // micro // layout.data_parallel_size,
        train_iters=options["train_iters"],
        epochs=options.get("epochs"),
    )
    file = StageFile(stage=name, run_dir=str(run), spec=spec, layout=layout, batch=batch)
    file.folder.create()
    folder = file.folder.stage(name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stage.json").write_text(file.model_dump_json(), encoding="utf-8")
    return file


def emitted(file: StageFile, kind: str) -> list[dict[str, Any]]:
    """Data of the facts of one kind that a stage has told so far, in order."""
    path = file.folder.stage(file.stage) / "emitted.jsonl"
    if not path.exists():
        return []
    facts = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [fact["data"] for fact in facts if fact["kind"] == kind]


def preprocess(run: Path, model: Path, **train: Any) -> StageFile:
    from engine.preprocess.__main__ import main

    file = stage_file(run, "preprocess", model, **train)
    main(file, emitter(file))
    return file


def train(run: Path, model: Path, **options: Any) -> StageFile:
    """Preprocess and train in this process."""
    from engine.training.__main__ import train as train_stage
    from engine.training.stop import StopRequest
    from engine.training.world import alone

    preprocess(run, model, **options)
    file = stage_file(run, "train", model, **options)
    train_stage(file, emitter(file), alone(file.layout), StopRequest())
    return file


def export(run: Path, model: Path, **options: Any) -> StageFile:
    from engine.weights.__main__ import main

    file = stage_file(run, "export", model, **options)
    main(file, emitter(file))
    return file


def emitter(file: StageFile) -> Emitter:
    return Emitter(file.folder.stage(file.stage) / "emitted.jsonl")


@contextmanager
def process(file: StageFile) -> Iterator[subprocess.Popen[str]]:
    """The stage in its own process or processes, started as a plan's command does; none is left behind."""
    folder = file.folder.stage(file.stage)
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(file.layout.devices)]
    launcher = several if file.layout.devices > 1 else []
    process = subprocess.Popen(
        [sys.executable, *launcher, "-m", ROOMS[file.stage], str(folder / "stage.json")],
        cwd=ROOT,
        env=os.environ | PATIENT_THREADS | {EMIT_VARIABLE: str(folder / "emitted.jsonl")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def store(file: StageFile) -> TokenStore:
    """What training will read."""
    return opened(file.folder.data, file.spec.train)


def losses(file: StageFile) -> list[float]:
    return [metric["lm_loss"] for metric in emitted(file, "metric")]
