"""Starts a run on the node it was assigned to. Runs in the node's worker."""

from __future__ import annotations

import logging
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from engine.runner import is_alive, prepare, request_stop
from jobs.devices import only
from jobs.models import Run
from jobs.states import RunState
from jobs.supervisor import launch

log = logging.getLogger(__name__)


def start(run_id: int, token: UUID) -> bool:
    """Start the run's supervisor, or a new one for a training that has lost its own; True when one was started.

    The state changes before anything is started: whoever holds an outdated token does nothing, so
    that a run which was cancelled or put back into the queue cannot start late.
    """
    run = Run.objects.select_related("job", "node").filter(pk=run_id, token=token).first()
    if run is None or run.node is None or run.node.name != settings.NODE:
        log.info("run %s: this start is outdated", run_id)
        return False
    if not _claim(run, token):
        return False
    folder = run.folder
    if folder.result.exists() or is_alive(folder):
        return False
    prepare(folder, run.job.job_spec, run.job.job_plan, settings.ROOTS)
    run.refresh_from_db(fields=["state"])
    if run.state == RunState.STOPPING:
        request_stop(folder)
    return launch(folder, env=environment(run))


def _claim(run: Run, token: UUID) -> bool:
    if run.state == RunState.ASSIGNED:
        return run.advance(RunState.ASSIGNED, RunState.RUNNING, if_token=token, started_at=timezone.now())
    return run.state in (RunState.RUNNING, RunState.STOPPING)


def environment(run: Run) -> dict[str, str]:
    """What the supervisor needs beside our environment: where Redis is, and only the leased devices in sight."""
    leased = run.leases.values_list("device", flat=True)
    return {"REDIS_URL": settings.REDIS_URL, **only(run.job.job_spec.hardware, leased)}
