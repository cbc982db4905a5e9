"""After training: did it train? Upstream ends with exit code 0 where a checkpoint to load is missing or unreadable.

The newest checkpoint must be of the last iteration and whole, and the log must not say that random weights were
trained.
"""

from __future__ import annotations

import sys
from pathlib import Path

from engine.events import Emitter
from engine.failures import Failure
from engine.frameworks.mindspeed_llm.split import shards
from engine.frameworks.mindspeed_llm.steps.start import LATEST, train_iters
from engine.stage_file import StageFile
from engine.stage_process import run_stage

RANDOM = b"will start from random"
FILE = "model_optim_rng.pt"


def main(stage: StageFile, emitter: Emitter) -> None:
    if _says(stage.folder.log("train"), RANDOM):
        raise Failure("mindspeed_llm.random_weights", "", "software")
    wanted = train_iters(stage)
    named = _named(stage.folder.checkpoints / LATEST)
    if named != wanted:
        raise Failure("mindspeed_llm.not_trained", "", "software", iteration=named or 0, train_iters=wanted)
    folder = stage.folder.checkpoints / f"iter_{wanted:07d}"
    lacking = [name for name in shards(stage.layout) if not _whole(folder / name / FILE)]
    if lacking:
        raise Failure(
            "mindspeed_llm.checkpoint_incomplete", "", "site", path=str(folder), missing=", ".join(lacking[:5])
        )
    emitter.emit("checkpoint", iteration=wanted, path=str(folder.relative_to(stage.folder.path)))
    print(f" trained to iteration {wanted}", flush=True)


def _named(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    return int(text) if text.isdecimal() else None


def _whole(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _says(path: Path, words: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return any(words in line for line in file)
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
