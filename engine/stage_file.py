"""`StageFile`: what a stage's process reads, at `stages/<stage>/stage.json`. Written by the runner.

The process is started as `{python} -m engine.<room> {run_dir}/stages/<stage>/stage.json` with its
standard output and error already on the stage's log file, and `TRAINYARD_EMIT` set for rank 0's facts.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from engine.plan import Batch, Layout
from engine.run_folder import RunFolder
from engine.spec import JobSpec


class StageFile(BaseModel):
    """The spec with absolute paths, and the decisions that the processes need."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    run_dir: str
    spec: JobSpec
    layout: Layout
    batch: Batch
    roots: tuple[str, ...] | None = None
    """Folders in which dataset and weights must lie when they are opened; null: anywhere."""

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.run_dir)

    @classmethod
    def read(cls, path: str | Path) -> StageFile:
        return cls.model_validate_json(Path(path).read_text(encoding="utf-8"))
