"""`Story`: what a page tells of a run: its rows, carried on by the events that the rows do not know yet.

So a page is as new as the files, however far the recorder is behind.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from engine.events import Event
from engine.run_folder import read_json
from jobs.derived import StageValues
from jobs.models import Run
from jobs.recorder import derived_of, whole_lines


@dataclass(frozen=True)
class StagePart:
    """A stage as a page shows it."""

    name: str
    values: StageValues

    @property
    def since(self) -> float | None:
        """When a running stage began, in seconds since the epoch."""
        begun = self.values.started_at
        return begun.timestamp() if begun is not None and self.values.state == "running" else None

    @property
    def seconds(self) -> float | None:
        """How long it took, or has been running."""
        begun, ended = self.values.started_at, self.values.finished_at
        if begun is None or (ended is None and self.since is None):
            return None
        return max(0.0, (time.time() if ended is None else ended.timestamp()) - begun.timestamp())


@dataclass(frozen=True)
class Story:
    """See the module. `offset`: how many bytes of events.jsonl it knows."""

    stages: list[StagePart]
    progress: dict[str, Any]
    metrics: dict[str, Any]
    problems: list[dict[str, Any]]
    offset: int


def story(run: Run) -> Story:
    """The story of a run so far."""
    derived = derived_of(run)
    news = whole_lines(run.folder.events, run.recorded_offset)
    derived.fold(event for line in news.splitlines() if (event := _event(line)) is not None)
    names = [stage["name"] for stage in run.job.plan.get("stages", ())] or list(derived.stages)
    return Story(
        [StagePart(name, derived.stages.get(name, StageValues())) for name in names],
        derived.progress if derived.progress.get("stage") else {},  # older rows may hold the run's own count
        derived.metrics,
        derived.problems,
        run.recorded_offset + len(news),
    )


def samples(run: Run) -> list[dict[str, Any]]:
    """The answers before and after the training: [{"prompt", "before", "after"}]; empty when there are none."""
    found = read_json(run.folder.samples)
    return found if isinstance(found, list) else []


def _event(line: bytes) -> Event | None:
    """None for a line that is not an event; the recorder tells the log about it."""
    try:
        return Event.model_validate_json(line)
    except ValidationError:
        return None
