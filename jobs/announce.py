"""Tells open pages that a run's row has changed. A hint only: nothing depends on its arrival."""

from __future__ import annotations

import logging

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

log = logging.getLogger(__name__)
RUNS_GROUP = "runs"


def run_changed(run_id: int) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(RUNS_GROUP, {"type": "run.changed", "run_id": run_id})
    except (RedisError, OSError) as error:
        log.warning("could not announce run %s: %s", run_id, error)
