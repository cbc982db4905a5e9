"""Sends messages to nodes. When the broker is away they are dropped: the reconciler sends them again."""

from __future__ import annotations

import logging
from uuid import UUID

from kombu.exceptions import OperationalError

from jobs.celery import node_queue
from jobs.tasks import dispatch, start_run

log = logging.getLogger(__name__)


def wake_dispatcher() -> bool:
    """Ask for a dispatch now; False when the broker could not be reached."""
    try:
        dispatch.apply_async(retry=False)
    except OperationalError as error:
        log.warning("the broker is away, the reconciler will dispatch: %s", error)
        return False
    return True


def send_start(run_id: int, token: UUID, node: str) -> bool:
    """Tell a node to start or take over a run; False when the broker could not be reached."""
    try:
        start_run.apply_async((run_id, str(token)), queue=node_queue(node), retry=False)
    except OperationalError as error:
        log.warning("the broker is away, run %s will be sent to %s again: %s", run_id, node, error)
        return False
    return True
