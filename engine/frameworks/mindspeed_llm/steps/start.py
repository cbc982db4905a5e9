"""`python -m … steps.start STAGE_JSON FOLDER -- COMMAND…`: becomes the command, in the folder, with what only now is
known added at its end: the number of iterations, from the samples that are left, and which checkpoint to load.

The run's own newest checkpoint comes before the one that the request names, as upstream's vendor has it.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.events import Emitter
from engine.failures import Failure
from engine.frameworks.mindspeed_llm.split import shards
from engine.plan import Layout
from engine.stage_file import StageFile
from engine.stage_process import run_stage

LATEST = "latest_checkpointed_iteration.txt"
PATH = "train.resume.checkpoint_path"


def main(arguments: Sequence[str]) -> int:
    """The exit code, where the command could not be started."""
    if len(arguments) < 4 or arguments[2] != "--":
        print("usage: start STAGE_JSON FOLDER -- COMMAND …", file=sys.stderr)
        return 2
    path, folder, _, *command = arguments

    def become(stage: StageFile, _emitter: Emitter) -> None:
        full = [*command, *added(stage)]
        print(f" {' '.join(full)}", flush=True)
        os.chdir(folder)
        os.execvp(full[0], full)

    return run_stage(become, [path])


def added(stage: StageFile) -> list[str]:
    """The words that are known only now."""
    words = [] if stage.batch.train_iters is not None else ["--train-iters", str(train_iters(stage))]
    named = stage.spec.train.resume.checkpoint_path
    if named is not None:
        own = stage.folder.checkpoints
        words += ["--load", str(own if (own / LATEST).is_file() else _home(Path(named), stage.layout))]
    return words


def train_iters(stage: StageFile) -> int:
    """As many iterations as the samples make, rounded up; `batch.epochs` times."""
    if stage.batch.train_iters is not None:
        return stage.batch.train_iters
    report = json.loads((stage.folder.data / "report.json").read_text(encoding="utf-8"))
    epochs = 1.0 if stage.batch.epochs is None else stage.batch.epochs
    return max(1, math.ceil(int(report["samples"]) * epochs / stage.batch.global_batch_size - 1e-9))


def _home(path: Path, layout: Layout) -> Path:
    """Megatron wants the folder that holds the iterations: one level too deep it would start from random weights.

    The checkpoint must be cut as the job is: every process loads the part of its own number.
    """
    home = path.parent if path.name.startswith("iter_") else path
    if not (home / LATEST).is_file():
        raise Failure("resume.no_latest", PATH, path=str(home), file=LATEST, there="-")
    text = (home / LATEST).read_text(encoding="utf-8").strip()
    folder = home / (f"iter_{int(text):07d}" if text.isdecimal() else text)
    there = {entry.name for entry in folder.glob("mp_rank_*")}
    if there != set(shards(layout)):
        sizes = {
            "tensor": layout.tensor_parallel_size,
            "pipeline": layout.pipeline_parallel_size,
            "expert": layout.expert_parallel_size,
        }
        raise Failure("mindspeed_llm.other_layout", PATH, path=str(folder)[:200], parts=len(there), **sizes)
    return home


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
