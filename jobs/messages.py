"""Sends messages to nodes. When the broker is away they are dropped: the reconciler sends them again."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any
from uuid import UUID

from celery import Task
from kombu.exceptions import OperationalError

from jobs.celery import DEFAULT_QUEUE, app, node_queue
from jobs.outbox import post
from jobs.tasks import dispatch, inspect, start_run, view_row

log = logging.getLogger(__name__)
PUBLISH_OPTIONS = {"socket_timeout": 2}
"""Beside the site's options of the broker. A worker's connection has no such limit: it waits for messages."""


def wake_dispatcher() -> None:
    """Ask for a dispatch soon; never waits and never raises."""
    post(partial(_send, dispatch, (), DEFAULT_QUEUE))


def send_start(run_id: int, token: UUID, node: str) -> None:
    """Tell a node soon to start or take over a run; never waits and never raises."""
    post(partial(_send, start_run, (run_id, str(token)), node_queue(node)))


def send_inspect(inspection_id: int) -> None:
    """Ask for a report to be begun soon; never waits and never raises."""
    post(partial(_send, inspect, (inspection_id,), DEFAULT_QUEUE))


def send_view_row(inspection_id: int, row: int, first_token: int) -> None:
    """Ask for the view of a row soon; never waits and never raises."""
    post(partial(_send, view_row, (inspection_id, row, first_token), DEFAULT_QUEUE))


def _send(task: Task[Any, Any], arguments: tuple[Any, ...], queue: str) -> None:
    try:
        with app.connection_for_write(transport_options=PUBLISH_OPTIONS) as connection:
            app.send_task(task.name, arguments, queue=queue, retry=False, connection=connection)
    except (OperationalError, OSError) as error:
        log.warning("the broker is away, %s%s will be sent again: %s", task.name, arguments, error)
