"""`Story`: what a page tells of a run: its rows, carried on by the events that the rows do not know yet.

So a page is as new as the files, however far the recorder is behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from engine.run_folder import read_json
from jobs.models import Run, StageRecord
from jobs.run_files import open_followed, read_lines

MOST_BYTES = 4 * 1024 * 1024
"""Events beyond the rows that are read for one page; more means that no recorder works."""
MOST_PROBLEMS = 100


@dataclass
class StagePart:
    """A stage as a page shows it; times are seconds since the epoch."""

    name: str
    state: str = "waiting"
    argv: list[str] = field(default_factory=list)
    started_at: float | None = None
    finished_at: float | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took; None when it has not ended."""
        if self.started_at is None or self.finished_at is None:
            return None
        return max(0.0, self.finished_at - self.started_at)


@dataclass
class Story:
    """See the module. `offset`: bytes of events.jsonl that it knows."""

    stages: list[StagePart]
    progress: dict[str, Any]
    metrics: dict[str, Any]
    problems: list[dict[str, Any]]
    offset: int

    def take_in(self, event: dict[str, Any]) -> None:
        kind, data, stage = event["kind"], event["data"], self._stage(event["stage"])
        if kind == "progress":
            self.progress = {**data, "stage": event["stage"]}
        elif kind == "metric":
            self.metrics = data
        elif kind == "problem":
            if data["problem"] not in self.problems:
                self.problems.append(data["problem"])
        elif stage is not None and kind == "started":
            stage.state, stage.started_at, stage.argv = "running", event["time"], list(data.get("argv", ()))
        elif stage is not None and kind == "finished":
            stage.state, stage.finished_at = data["state"], event["time"]

    def _stage(self, name: str) -> StagePart | None:
        return next((stage for stage in self.stages if stage.name == name), None)


def story(run: Run) -> Story:
    """The story of a run so far."""
    records = {record.name: record for record in run.stages.all()}
    names = [stage["name"] for stage in run.job.plan.get("stages", ())] or list(records)
    told = Story(
        [_part(name, records.get(name)) for name in names],
        dict(run.progress),
        dict(run.metrics),
        list(run.problems),
        run.recorded_offset,
    )
    for event, end in _events(run, run.recorded_offset):
        told.take_in(event)
        told.offset = end
    del told.problems[MOST_PROBLEMS:]
    return told


def samples(run: Run) -> list[dict[str, Any]]:
    """The answers before and after the training: [{"prompt", "before", "after"}]; empty when there are none."""
    found = read_json(run.folder.samples)
    return found if isinstance(found, list) else []


def _part(name: str, record: StageRecord | None) -> StagePart:
    if record is None:
        return StagePart(name)
    started, finished = _seconds(record.started_at), _seconds(record.finished_at)
    return StagePart(name, record.state, list(record.argv), started, finished)


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


def _events(run: Run, offset: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Whole events from an offset on, each with the offset of its end."""
    try:
        with open_followed(run.folder.path, "events.jsonl") as file:
            data = read_lines(file, offset, MOST_BYTES).data
    except FileNotFoundError:
        return
    for line in data.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            return
        offset += len(line)
        yield orjson.loads(line), offset
