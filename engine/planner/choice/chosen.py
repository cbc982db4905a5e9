"""`Choice`: a layout for a number of devices, with the reason of each size."""

from __future__ import annotations

from dataclasses import dataclass

from engine.plan import Layout, Reason
from engine.planner.memory import Estimate
from engine.problems import Value


@dataclass(frozen=True)
class Choice:
    layout: Layout
    micro_batch_size: int
    estimate: Estimate | None
    """Null where the model's dimensions are not known."""
    reasons: tuple[Reason, ...]


def because(decision: str, code: str, **parameters: Value) -> Reason:
    return Reason(decision=decision, code=code, parameters=parameters)


def percent(share: float) -> int:
    return round(100 * share)
