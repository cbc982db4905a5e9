"""What fits: the best layout on a number of devices, and the two numbers that the check shows.

floor: the smallest number whose best layout fits, everything that saves memory allowed.
recommended: with the usual settings. MindSpeed-LLM: no recompute (mixtures of experts: full), an even split of
layers. LLaMA-Factory: a ZeRO level that leaves a fifth of the memory free.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from engine.catalog import HardwareRow
from engine.plan import Layout
from engine.planner.layouts import legal
from engine.planner.memory import Estimate, Setting, device, estimate
from engine.planner.memory.constants import LLAMA_FACTORY_HEADROOM
from engine.spec import LayoutRequest

ANY = LayoutRequest()
MOST_NODES = 128
"""Where the search for a number of devices ends."""
WIDER, MOST_BYTES = 2, 2**60
"""Where no layout fits, the one that needs the least is looked for among those below a bound that grows."""


@dataclass(frozen=True)
class Need:
    """Numbers of devices; null where none up to MOST_NODES nodes is enough, or memory is not known."""

    floor: int | None
    recommended: int | None


@lru_cache(maxsize=4096)
def smallest(setting: Setting, devices: int, wish: LayoutRequest = ANY) -> Estimate | None:
    """The layout that needs the least memory; None if there is no legal one."""
    most = device.capacity(setting) or inf
    while most < inf:
        found = _best(_estimates(setting, _least(setting, devices, wish, most)))
        if found is not None and found.breakdown.total <= most:  # what was left out needs more than this
            return found
        most = most * WIDER if most < MOST_BYTES else inf
    return _best(_estimates(setting, _least(setting, devices, wish, inf)))


def _best(found: Iterator[Estimate]) -> Estimate | None:
    return min(found, key=lambda one: one.breakdown.total, default=None)


@lru_cache(maxsize=4096)
def fits(setting: Setting, devices: int, wish: LayoutRequest = ANY, share: float = 1.0) -> bool:
    """Does any legal layout fit into this share of the usable memory? Much quicker than `smallest`, if one does."""
    full = device.capacity(setting) or inf
    return any(found.share <= share for found in _estimates(setting, _least(setting, devices, wish, full, True)))


@lru_cache(maxsize=4096)
def need(setting: Setting, hardware: HardwareRow, wish: LayoutRequest = ANY) -> Need:
    if setting.memory_gib is None:
        return Need(None, None)
    floor = next((number for number in counts(hardware) if fits(setting, number, wish)), None)
    recommended = None
    if floor is not None:
        larger = (number for number in counts(hardware) if number >= floor)
        recommended = next((number for number in larger if _is_comfortable(setting, number, wish)), None)
    return Need(floor, recommended)


def counts(hardware: HardwareRow) -> Iterator[int]:
    """Doubling from the smallest unit to a node, then doubling the nodes: the counts that tables print."""
    number = hardware.device_step
    while number < hardware.devices_per_node:
        yield number
        number *= 2
    nodes = 1
    while nodes <= MOST_NODES:
        yield nodes * hardware.devices_per_node
        nodes *= 2


def _least(
    setting: Setting, devices: int, wish: LayoutRequest, most: float, most_cut_first: bool = False
) -> Iterator[Layout]:
    """Layouts with everything on that saves memory and that the person has not ruled out."""
    recompute = "full" if wish.recompute is None else wish.recompute
    return legal(setting, devices, wish, recompute=recompute, reuse=True, most=most, most_cut_first=most_cut_first)


def _estimates(setting: Setting, layouts: Iterator[Layout]) -> Iterator[Estimate]:
    return (estimate(setting, layout) for layout in layouts)


def _is_comfortable(setting: Setting, devices: int, wish: LayoutRequest) -> bool:
    """With the usual settings, is there a layout with room?"""
    limit = LLAMA_FACTORY_HEADROOM if setting.framework == "llama-factory" else 1.0
    recompute = wish.recompute or ("none" if setting.shape.experts is None else "full")
    full = device.capacity(setting) or inf
    usual = legal(setting, devices, wish, recompute=recompute, even=True, most=full)
    return any(found.share <= limit for found in _estimates(setting, usual))
