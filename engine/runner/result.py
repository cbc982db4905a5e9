"""`Result`: how a run ended. `result.json` is the last thing that a runner writes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

EndState = Literal["succeeded", "failed", "stopped"]


class Result(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    state: EndState
    returncode: int | None
    """Of the last process that ran; 128 + n when signal n ended it; null when it is not known."""
    stage: str
    """The stage in which the run ended."""
    finished_at: float
    """Seconds since the epoch, UTC."""
    leftover_processes: int
    """Processes of the run that could not be killed (stuck in the kernel); their devices are not free."""

    @classmethod
    def read(cls, path: Path) -> Result | None:
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
