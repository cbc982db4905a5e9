"""Rules about the size of checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

from engine.planner.ask import Ask
from engine.planner.memory.constants import GIB
from engine.planner.saving import SAVE_TIMEOUT_MINUTES, nodes_of, saved
from engine.problems import Problem, Value


def size(ask: Ask) -> Iterator[Problem]:
    """What one costs on disk, and on several nodes how fast it has to be written. Adapters are small."""
    found = saved(ask)
    if found is None or ask.hardware is None or ask.spec.train.strategy != "full" or not ask.framework.table:
        return
    nodes = nodes_of(ask)
    parameters: dict[str, Value] = {"gib": round(found.size / GIB), "save_interval": ask.spec.train.save_interval}
    code = "checkpoint.size_alone"
    if nodes > 1:
        code = "checkpoint.size"
        speed = found.size / nodes / 1e6 / (SAVE_TIMEOUT_MINUTES * 60)
        parameters |= {
            "nodes": nodes,
            "minutes": SAVE_TIMEOUT_MINUTES,
            "megabytes_per_second": max(1, round(speed)),
        }
    yield Problem(code=code, field="train.save_interval", severity="note", parameters=parameters)
