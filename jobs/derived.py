"""What the rows of a run say, folded from its events. Pure: events in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from engine.events import Event


@dataclass
class StageValues:
    state: str = "waiting"
    argv: list[str] = field(default_factory=list)
    started_at: datetime | None = None
    finished_at: datetime | None = None
    returncode: int | None = None


@dataclass
class Derived:
    """The derived columns of a run and its stages."""

    stage: str = ""
    progress: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    problems: list[dict[str, Any]] = field(default_factory=list)
    stages: dict[str, StageValues] = field(default_factory=dict)

    def fold(self, events: Iterable[Event]) -> None:
        """Take in events in the order of the file."""
        for event in events:
            apply = _APPLY.get(event.kind)
            if apply is not None:
                apply(self, event)


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _started(derived: Derived, event: Event) -> None:
    if not event.stage:
        return
    derived.stage = event.stage
    derived.progress = {}
    values = derived.stages.setdefault(event.stage, StageValues())
    values.state = "running"
    values.argv = list(event.data.get("argv", []))
    values.started_at = values.started_at or at(event.time)  # a stage may have several commands


def _progress(derived: Derived, event: Event) -> None:
    if event.stage:  # without one it counts the run's stages: not how far the present one is
        derived.progress = {**event.data, "stage": event.stage}


def _metric(derived: Derived, event: Event) -> None:
    if event.rank == 0:
        derived.metrics = dict(event.data)


def _problem(derived: Derived, event: Event) -> None:
    problem = event.data.get("problem")
    if isinstance(problem, Mapping):
        derived.problems.append({**problem, "stage": event.stage})


def _finished(derived: Derived, event: Event) -> None:
    if not event.stage:
        return
    values = derived.stages.setdefault(event.stage, StageValues())
    values.state = str(event.data.get("state", "failed"))
    values.finished_at = at(event.time)
    values.returncode = event.data.get("returncode")


_APPLY = {
    "started": _started,
    "progress": _progress,
    "metric": _metric,
    "problem": _problem,
    "finished": _finished,
}
