"""Derives a run's rows from its files. Only ever reads the files, so it can be repeated at will.

Two recorders at once do no harm: whoever moves `recorded_offset` on has written the rows as well.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.db import transaction
from pydantic import ValidationError

from engine.events import Event
from engine.runner import Result
from jobs.attempts import fresh_stages
from jobs.derived import Derived, StageValues, at
from jobs.models import Run, StageRecord
from jobs.own_runs import note_speed
from jobs.states import ACTIVE, RunState

log = logging.getLogger(__name__)
CHUNK = 4 << 20
"""Bytes of events taken into one transaction."""


def record(run: Run) -> bool:
    """Bring the rows up to date with the files; True when anything changed.

    Ends the run, and gives back its devices, when the runner has left its result.
    """
    result = Result.read(run.folder.result)  # before the events: it is written after the last of them
    changed = False
    while _record_chunk(run):
        changed = True
    if result is not None and _conclude(run, result):
        return True
    if changed:
        run.announce()
    return changed


def rebuild(run: Run) -> None:
    """Forget what was derived and derive it again from the first event on."""
    kept = [problem for problem in run.problems if problem["code"].startswith("run.")]  # not from an event
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=run.pk)
        run.stages.all().delete()
        StageRecord.objects.bulk_create(fresh_stages(run))
        Run.objects.filter(pk=run.pk).update(stage="", progress={}, metrics={}, problems=[], recorded_offset=0)
    run.refresh_from_db()
    record(run)
    if run.ended:
        Run.objects.filter(pk=run.pk).update(problems=[*run.problems, *kept])
        conclude_stages(run, run.state)
    if run.state == RunState.SUCCEEDED:
        note_speed(run)
    run.refresh_from_db()


def conclude_stages(run: Run, state: str) -> None:
    """A stage that never reported its end has ended as its run did; one that never began was skipped."""
    ended_as = "stopped" if state == RunState.STOPPED else "failed"
    run.stages.filter(state="running").update(state=ended_as, finished_at=run.finished_at)
    run.stages.filter(state="waiting").update(state="skipped")


def _record_chunk(run: Run) -> bool:
    """Derive the next whole lines; False when there are none."""
    if not _has_grown(run):
        return False
    run.refresh_from_db()
    start = run.recorded_offset
    lines = whole_lines(run.folder.events, start)
    if not lines:
        return False
    derived = derived_of(run)
    derived.fold(_events(run, lines))
    with transaction.atomic():
        moved = Run.objects.filter(pk=run.pk, recorded_offset=start).update(
            recorded_offset=start + len(lines),
            stage=derived.stage,
            progress=derived.progress,
            metrics=derived.metrics,
            problems=derived.problems,
        )
        if moved:
            for name, values in derived.stages.items():
                run.stages.filter(name=name).update(**asdict(values))
    return True


def _has_grown(run: Run) -> bool:
    """Without asking the database: a row that is out of date only ever knows less."""
    try:
        return run.folder.events.stat().st_size > run.recorded_offset
    except FileNotFoundError:
        return False


def whole_lines(path: Path, start: int) -> bytes:
    """Up to CHUNK bytes from `start`, cut after the last whole line; empty when there is none or no file."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(CHUNK)
            while data and b"\n" not in data and (more := file.read(CHUNK)):
                data += more
    except FileNotFoundError:
        return b""
    return data[: data.rfind(b"\n") + 1]


def _events(run: Run, lines: bytes) -> Iterator[Event]:
    for line in lines.splitlines():
        try:
            yield Event.model_validate_json(line)
        except ValidationError as error:
            log.warning("run %s: an event is unreadable and left out: %s", run.pk, error)


def derived_of(run: Run) -> Derived:
    """What the rows say so far."""
    columns = ("state", "argv", "started_at", "finished_at", "returncode")
    stages: dict[str, StageValues] = {
        row.pop("name"): StageValues(**row) for row in run.stages.values("name", *columns)
    }
    values: dict[str, Any] = {name: getattr(run, name) for name in ("stage", "progress", "metrics", "problems")}
    return Derived(**values, stages=stages)


def _conclude(run: Run, result: Result) -> bool:
    if run.state not in ACTIVE:
        return False
    with transaction.atomic():
        won = run.advance(
            RunState(run.state),
            RunState(result.state),
            finished_at=at(result.finished_at),
            returncode=result.returncode,
            stage=result.stage,
        )
        if won:
            conclude_stages(run, result.state)
    if won and run.state == RunState.SUCCEEDED:
        note_speed(run)
    return won
