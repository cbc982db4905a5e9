"""Trainings and the end of the site: which go on, and how to end them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from django.core.management import CommandError, call_command
from django.db import DatabaseError, connections

from engine.runner import is_alive
from jobs.models import Run
from jobs.states import ACTIVE, RunState
from jobs.stop import request_stop
from webui.demo.console import complain, say

STOP_WITHIN = 120.0


def say_what_goes_on() -> None:
    """Name the trainings that outlive the site."""
    _say_of_each("goes_on", lambda run: {"folder": run.folder.path})


def say_what_still_runs(address: str) -> None:
    """Name the trainings that an earlier start of the site has left, with their pages under `address`."""
    _say_of_each("still_running", lambda run: {"address": f"{address}/jobs/{run.job_id}/"})


def _say_of_each(code: str, more: Callable[[Run], dict[str, object]]) -> None:
    """One text for every training whose runner lives."""
    try:
        for run in Run.objects.filter(state__in=ACTIVE).select_related("job").order_by("pk"):
            if is_alive(run.folder):
                say(code, run=run.pk, name=run.job.name, **more(run))
    except DatabaseError as error:
        complain("plain", text=str(error))
    finally:
        connections.close_all()


def stop_trainings() -> bool:
    """Ask every training to stop, and wait for it; True when all have ended."""
    runs = list(Run.objects.exclude(state__in=[s for s in RunState if s not in ACTIVE | {RunState.QUEUED}]))
    if not runs:
        say("no_trainings")
    for run in runs:
        say("stop_asked", run=run.pk, name=run.job.name)
        request_stop(run, None)
    ended = [_ended(run) for run in runs]
    return all(ended)


def _ended(run: Run) -> bool:
    """Wait until the training is gone and that is written down."""
    deadline = time.monotonic() + STOP_WITHIN
    while is_alive(run.folder) or not _recorded(run):
        if time.monotonic() > deadline:
            complain("stop_slow", run=run.pk, name=run.job.name, seconds=STOP_WITHIN)
            return False
        time.sleep(0.2)
    say("stop_done", run=run.pk, name=run.job.name, state=run.get_state_display())
    return True


def _recorded(run: Run) -> bool:
    with suppress(CommandError):  # the site is up, and its own reconciler does it
        call_command("reconcile", once=True)
    run.refresh_from_db()
    return run.ended
