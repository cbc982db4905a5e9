"""Stopping a run."""

from __future__ import annotations

import logging

from django.contrib.auth.models import User
from django.db import Error as DatabaseError
from django.db import transaction

from engine.runner import request_stop as raise_stop_flag
from jobs.models import AuditEvent, Run
from jobs.states import ACTIVE, RunState

log = logging.getLogger(__name__)
STEPS = (
    (RunState.QUEUED, RunState.CANCELLED),
    (RunState.ASSIGNED, RunState.CANCELLED),  # the start claims the run first, so nothing has been started
    (RunState.RUNNING, RunState.STOPPING),
)


class NotRecorded(Exception):
    """The training has been asked to stop, but the database could not be written: its row follows its files later."""


def request_stop(run: Run, user: User | None) -> bool:
    """Stop a run: one that has not started is cancelled, one that runs is asked to stop.

    False when it has ended or has been asked before. The training gets the time to save a
    checkpoint; the state becomes `stopped` when it is gone. A database that cannot be written does not
    keep a training running: its flag is raised all the same, and NotRecorded says so. Where there is
    no training yet, the database's own error is raised.
    """
    try:
        return _stop(run, user)
    except DatabaseError as error:
        if not raise_flag(run):
            raise
        log.warning("run %s is stopped for %s without a row that says so: %s", run.pk, user, error)
        raise NotRecorded(str(run)) from error


def _stop(run: Run, user: User | None) -> bool:
    while True:
        # The run may move on under our hands: try each step from where it can be by now.
        if any(_step(run, user, old, new) for old, new in STEPS):
            return True
        run.refresh_from_db(fields=["state"])
        if run.ended or run.state == RunState.STOPPING:
            return False


def raise_flag(run: Run) -> bool:
    """Make sure that the stop flag of an active run is there; False when it has no folder yet or has ended."""
    folder = run.folder
    if run.state not in ACTIVE or not folder.path.is_dir():
        return False
    if not folder.stop.exists():
        raise_stop_flag(folder)
    return True


def _step(run: Run, user: User | None, old: RunState, new: RunState) -> bool:
    with transaction.atomic():
        won = run.advance(old, new, "asked")
        if won:
            AuditEvent.objects.create(user=user, action="run.stop", job=run.job, detail={"run": run.pk})
    if won:
        raise_flag(run)
    return won
