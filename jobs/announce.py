"""Tells open pages that a run's row has changed. A hint only: nothing depends on its arrival."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from jobs.outbox import post

log = logging.getLogger(__name__)
RUNS_GROUP = "runs"
SEND_SECONDS = 1.0
"""The channel layer has no time limit of its own: its listeners wait for ever."""


def run_changed(run_id: int) -> None:
    """Announce soon; never waits and never raises."""
    post(partial(_send, run_id))


def _send(run_id: int) -> None:
    try:
        async_to_sync(_send_in_time)(run_id)
    except (RedisError, OSError) as error:  # TimeoutError is an OSError
        log.warning("could not announce run %s: %s", run_id, str(error) or type(error).__name__)


async def _send_in_time(run_id: int) -> None:
    layer = get_channel_layer()
    if layer is not None:
        async with asyncio.timeout(SEND_SECONDS):
            await layer.group_send(RUNS_GROUP, {"type": "run.changed", "run_id": run_id})
