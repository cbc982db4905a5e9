"""The largest micro-batch that a layout leaves room for."""

from __future__ import annotations

from engine.plan import Layout, Reason
from engine.planner.ask import Ask
from engine.planner.choice.chosen import because, percent
from engine.planner.memory import Estimate, Setting, estimate
from engine.planner.memory.constants import LITTLE_ROOM

MOST = 8
"""Larger ones gain little speed."""


def raised(ask: Ask, setting: Setting, layout: Layout, room: float = LITTLE_ROOM) -> tuple[Estimate, Reason]:
    """The estimate with the chosen micro-batch; a requested one is kept. It must divide a replica's samples.

    room: share of the usable memory that a micro-batch above 1 may fill.
    """
    wanted = ask.spec.train.micro_batch_size
    if wanted is not None:
        found = estimate(setting, layout)
        return found, because("batch.micro_batch_size", "reason.asked", value=wanted)
    best = estimate(setting.with_micro_batch(1), layout)
    for size in _sizes(ask, layout):
        larger = estimate(setting.with_micro_batch(size), layout)
        if larger.capacity is None or larger.share > room:
            break
        best = larger
    code = "reason.micro_batch_fits" if best.capacity is not None else "reason.micro_batch_unknown"
    share = percent(best.share)
    return best, because("batch.micro_batch_size", code, micro_batch_size=best.micro_batch_size, percent=share)


def _sizes(ask: Ask, layout: Layout) -> list[int]:
    total = ask.spec.train.global_batch_size
    share = None if total is None else total // layout.data_parallel_size
    return [size for size in (2, 4, 8) if size <= MOST and (share is None or share % size == 0)]
