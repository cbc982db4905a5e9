"""Stopping a run."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from engine.runner import request_stop as raise_stop_flag
from jobs.models import AuditEvent, Run
from jobs.states import ACTIVE, RunState

STEPS = (
    (RunState.QUEUED, RunState.CANCELLED),
    (RunState.ASSIGNED, RunState.CANCELLED),  # the start claims the run first, so nothing has been started
    (RunState.RUNNING, RunState.STOPPING),
)


def request_stop(run: Run, user: User | None) -> bool:
    """Stop a run: one that has not started is cancelled, one that runs is asked to stop.

    False when it has ended or has been asked before. The training gets the time to save a
    checkpoint; the state becomes `stopped` when it is gone.
    """
    while True:
        # The run may move on under our hands: try each step from where it can be by now.
        if any(_step(run, user, old, new) for old, new in STEPS):
            break
        run.refresh_from_db(fields=["state"])
        if run.ended or run.state == RunState.STOPPING:
            return False
    raise_flag(run)
    return True


def raise_flag(run: Run) -> None:
    """Make sure that the stop flag of a stopping run is there, unless its folder is not there yet."""
    folder = run.folder
    if run.state in ACTIVE and folder.path.is_dir() and not folder.stop.exists():
        raise_stop_flag(folder)


def _step(run: Run, user: User | None, old: RunState, new: RunState) -> bool:
    with transaction.atomic():
        won = run.advance(old, new, "asked")
        if won:
            AuditEvent.objects.create(user=user, action="run.stop", job=run.job, detail={"run": run.pk})
    return won
