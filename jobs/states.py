"""States of a run: what they are called, how they look, and which may follow which.

    queued → assigned → running → succeeded | failed | lost
       ↓        ↓          ↓
    cancelled  queued   stopping → stopped | succeeded | failed | lost

`assigned → queued` is a start that never happened, put back. `Run.advance` is the only writer.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _


class RunState(models.TextChoices):
    QUEUED = "queued", _("Queued")
    ASSIGNED = "assigned", _("Assigned")
    RUNNING = "running", _("Running")
    STOPPING = "stopping", _("Stopping")
    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    STOPPED = "stopped", _("Stopped")
    CANCELLED = "cancelled", _("Cancelled")
    LOST = "lost", _("Lost")


ENDED = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.STOPPED, RunState.CANCELLED, RunState.LOST})
ACTIVE = frozenset({RunState.ASSIGNED, RunState.RUNNING, RunState.STOPPING})

_FROM_RUNNING = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.LOST})
TRANSITIONS: dict[str, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.ASSIGNED, RunState.CANCELLED}),
    RunState.ASSIGNED: frozenset(
        {RunState.RUNNING, RunState.QUEUED, RunState.STOPPING, RunState.CANCELLED, RunState.FAILED}
    ),
    RunState.RUNNING: _FROM_RUNNING | {RunState.STOPPING, RunState.STOPPED},
    RunState.STOPPING: _FROM_RUNNING | {RunState.STOPPED},
    **{state: frozenset() for state in ENDED},
}

COLOURS: dict[str, str] = {
    RunState.QUEUED: "secondary",
    RunState.ASSIGNED: "info",
    RunState.RUNNING: "primary",
    RunState.STOPPING: "warning",
    RunState.SUCCEEDED: "success",
    RunState.FAILED: "danger",
    RunState.STOPPED: "warning",
    RunState.CANCELLED: "secondary",
    RunState.LOST: "danger",
}
"""Bootstrap colour names."""
