"""Starts a run on the node it was assigned to. Runs in the node's worker."""

from __future__ import annotations

import logging
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from engine.runner import is_alive, prepare, request_stop
from jobs.models import Run
from jobs.states import RunState
from jobs.supervisor import launch

log = logging.getLogger(__name__)

VISIBLE_DEVICES = {
    "snt9b": "ASCEND_RT_VISIBLE_DEVICES",
    "snt9b23": "ASCEND_RT_VISIBLE_DEVICES",
    "cuda": "CUDA_VISIBLE_DEVICES",
}
"""Hardware → environment variable that limits a process to its devices. A CPU process needs none."""


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
    prepare(folder, run.job.job_spec, run.job.job_plan)
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
    variables = {"REDIS_URL": settings.REDIS_URL}
    variable = VISIBLE_DEVICES.get(run.job.job_spec.hardware)
    if variable is not None:
        devices = run.leases.order_by("device").values_list("device", flat=True)
        variables[variable] = ",".join(str(device) for device in devices)
    return variables
