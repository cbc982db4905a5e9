"""The memory of a job under a layout, by the framework that runs it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from engine.plan import Layout, Memory
from engine.planner.memory import deepspeed, device, megatron, native
from engine.planner.memory.breakdown import Breakdown
from engine.planner.memory.constants import GIB
from engine.planner.memory.setting import Setting

FRAMEWORKS = {"mindspeed-llm": megatron, "llama-factory": deepspeed, "native": native}


@dataclass(frozen=True)
class Estimate:
    """A layout with its memory on the fullest device; bytes."""

    layout: Layout
    micro_batch_size: int
    breakdown: Breakdown
    capacity: float | None
    """Null: not known, and then everything is taken to fit."""

    @property
    def share(self) -> float:
        """Of the usable memory, runtime left aside on both sides; 0 where the capacity is not known, infinite where
        the runtime alone takes it all."""
        if self.capacity is None:
            return 0.0
        usable = self.capacity - self.breakdown.runtime
        return self.breakdown.used / usable if usable > 0 else inf

    @property
    def fits(self) -> bool:
        return self.share <= 1.0

    def memory(self) -> Memory:
        """As a plan shows it; rounded, and the parts still sum to the whole."""
        parts = {name: round(value, 3) for name, value in self.breakdown.gib().items()}
        capacity = None if self.capacity is None else round(self.capacity / GIB, 2)
        return Memory(per_device_gib=round(sum(parts.values()), 3), usable_gib=capacity, breakdown=parts)


def estimate(setting: Setting, layout: Layout) -> Estimate:
    breakdown = FRAMEWORKS[setting.framework].peak(setting, layout)
    return Estimate(layout, setting.micro_batch_size, breakdown, device.capacity(setting))
