"""Where everything of a run lies on disk. The folder is the truth; rows and pages are derived from it.

spec.json plan.json                 what was asked, what was decided
roots.json                          folders in which dataset and weights must lie; null: anywhere
events.jsonl                        numbered facts (engine.events), written by the runner alone
logs/<stage>.<rank>.log             output of a stage's processes, appended by the processes themselves
logs/runner.0.log                   output of the runner itself
stages/<stage>/stage.json           what the stage's processes read (engine.stage_file)
stages/<stage>/emitted.jsonl        facts of the stage's own process, folded into events.jsonl
stages/<stage>/process.json         {"pid", "start_time"} of the stage's process group leader
stages/<stage>/returncode           written by the wrapper when the process has ended
stages/<stage>/done                 marker: the stage has succeeded, its outputs are valid
data/ weights/ checkpoints/ output/
lock                                flock held by the living runner
train.lock                          flock held by the living processes of the current stage
stop                                flag: its presence asks the runner to stop the run
result.<n>.json                     results of earlier times, when an ended run was asked to go on
result.json                         {"state", "returncode", "stage", "finished_at", "leftover_processes"}, written last
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

KEPT_CHECKPOINTS = 2
"""Newest checkpoints that stay on disk: one to resume from, and one in case it was the bad one."""


class RunFolder:
    """Paths of one run; makes nothing until `create`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self.spec = self.path / "spec.json"
        self.plan = self.path / "plan.json"
        self.roots = self.path / "roots.json"
        self.events = self.path / "events.jsonl"
        self.logs = self.path / "logs"
        self.data = self.path / "data"
        self.weights = self.path / "weights"
        self.checkpoints = self.path / "checkpoints"
        self.output = self.path / "output"
        self.samples = self.output / "samples.json"
        self.lock = self.path / "lock"
        self.train_lock = self.path / "train.lock"
        self.stop = self.path / "stop"
        self.result = self.path / "result.json"

    def stage(self, name: str) -> Path:
        return self.path / "stages" / name

    def log(self, stage: str, rank: int = 0) -> Path:
        return self.logs / f"{stage}.{rank}.log"

    def create(self) -> None:
        for folder in (self.path, self.logs, self.data, self.weights, self.checkpoints, self.output):
            folder.mkdir(parents=True, exist_ok=True)


def write_atomic(path: Path, text: str) -> None:
    """Write a file that is either whole or absent: temporary name, fsync, rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def newest_checkpoint(checkpoints: Path) -> tuple[int, Path] | None:
    """Iteration and folder of the newest whole checkpoint."""
    found = complete_checkpoints(checkpoints)
    return found[-1] if found else None


def complete_checkpoints(checkpoints: Path) -> list[tuple[int, Path]]:
    """Iterations and folders of the whole checkpoints, oldest first.

    Ours are `iter_<n>/` with the marker `done`; the Hugging Face Trainer's are `checkpoint-<n>/`, whose
    `trainer_state.json` is written when all else is there; Megatron's are `iter_<n>/mp_rank_…/`, of which only the
    one is known to be whole that its tracker names, written last.
    """
    markers = (*checkpoints.glob("iter_*/done"), *checkpoints.glob("checkpoint-*/trainer_state.json"))
    markers += tuple(checkpoints.glob(f"iter_{_named(checkpoints):07d}/mp_rank_*"))[:1]
    named = ((marker.parent.name.replace("-", "_").rpartition("_")[2], marker.parent) for marker in markers)
    return sorted((int(number), folder) for number, folder in named if number.isdecimal())


def _named(checkpoints: Path) -> int:
    """The iteration in `latest_checkpointed_iteration.txt`; 0, which is none, without it."""
    try:
        text = (checkpoints / "latest_checkpointed_iteration.txt").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return 0
    return int(text) if text.isdecimal() else 0


def read_json(path: Path) -> Any | None:
    """The value in a file written by `write_atomic`; None when there is no file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
