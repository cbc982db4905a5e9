"""Rules about the size of checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

from engine.planner.ask import Ask
from engine.planner.memory.constants import GIB, OPTIMIZER, WEIGHT
from engine.planner.memory.parameters import count
from engine.problems import Problem

SAVE_TIMEOUT_MINUTES = 36
"""Nodes that have saved wait this long for the others (vendor's list of known errors)."""


def of_several_nodes(ask: Ask) -> Iterator[Problem]:
    """Weights and optimizer states of a full training: what one costs on disk, and how fast it has to be written."""
    shape, hardware, train = ask.shape, ask.hardware, ask.spec.train
    if shape is None or hardware is None or train.strategy != "full" or not ask.framework.table:
        return
    size = (WEIGHT + OPTIMIZER) * count(shape).text / GIB
    nodes = -(-ask.spec.devices // hardware.devices_per_node)
    if nodes == 1:
        return
    speed = size / nodes * GIB / 1e6 / (SAVE_TIMEOUT_MINUTES * 60)
    parameters = {
        "gib": round(size),
        "save_interval": train.save_interval,
        "nodes": nodes,
        "minutes": SAVE_TIMEOUT_MINUTES,
        "megabytes_per_second": max(1, round(speed)),
    }
    yield Problem(code="checkpoint.size", field="train.save_interval", severity="note", parameters=parameters)
