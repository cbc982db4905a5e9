"""The layout of processes on a CPU: whole models side by side, unless the person or the memory asks for more."""

from __future__ import annotations

from collections.abc import Iterator

from engine.plan import Layout, Reason
from engine.planner.ask import Ask
from engine.planner.choice.chosen import Choice, because, percent
from engine.planner.choice.native_micro import native_micro
from engine.planner.layouts import of_native
from engine.planner.memory import Estimate, Setting, estimate
from engine.planner.sizing import setting_of, wish_of
from engine.spec import LayoutRequest

CUTS = (1, 2, 4, 8, 16)
"""By which a micro-batch is divided when the usual one does not fit."""
SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "zero_stage")


def choose(ask: Ask) -> Choice | None:
    """The layout that cuts the model the least among those that fit; None if no legal one fits."""
    layouts = list(of_native(ask.shape, ask.spec.devices, _wish(ask)))
    setting = setting_of(ask)
    if not layouts:
        return None
    first = layouts[0]
    if setting is None:
        return _with(ask, first, None, [*_reasons(ask, first, None), *_blind(ask)])
    found = next((one for layout in layouts for one in _estimates(ask, setting, layout) if one.fits), None)
    return None if found is None else _with(ask, found.layout, found, _reasons(ask, first, found))


def _wish(ask: Ask) -> LayoutRequest:
    """LLaMA-Factory has no other layouts than replicas; what is asked of them is done."""
    wish = wish_of(ask)
    if ask.spec.framework == "native":
        return wish
    return LayoutRequest(tensor_parallel_size=1, pipeline_parallel_size=1, zero_stage=wish.zero_stage or 0)


def _estimates(ask: Ask, setting: Setting, layout: Layout) -> Iterator[Estimate]:
    """With the usual micro-batch, then with smaller ones, unless the person insists on it."""
    micro = native_micro(ask.spec, layout, [])
    sizes = [micro] if ask.spec.train.micro_batch_size else [micro // cut for cut in CUTS if micro % cut == 0]
    for size in dict.fromkeys((*sizes, 1) if len(sizes) > 1 else sizes):
        yield estimate(setting.with_micro_batch(size), layout)


def _with(ask: Ask, layout: Layout, found: Estimate | None, reasons: list[Reason]) -> Choice:
    usual: list[Reason] = []
    micro = native_micro(ask.spec, layout, usual)
    if found is not None and found.micro_batch_size < micro:
        micro, share = found.micro_batch_size, percent(found.share)
        parameters = {"micro_batch_size": micro, "percent": share}
        usual = [because("batch.micro_batch_size", "reason.micro_batch_fits", **parameters)]
    return Choice(layout, micro, found, (*reasons, *usual))


def _reasons(ask: Ask, first: Layout, found: Estimate | None) -> list[Reason]:
    """Of the number of replicas, and of each size that is more than nothing."""
    chosen, wish = first if found is None else found.layout, wish_of(ask)
    whole = chosen.tensor_parallel_size == chosen.pipeline_parallel_size == 1 and chosen.zero_stage < 3
    parameters = {"devices": chosen.devices}
    if not whole:
        parameters |= {
            "data_parallel_size": chosen.data_parallel_size,
            "parts": chosen.devices // chosen.data_parallel_size,
        }
    code = "reason.cut_model" if not whole else "reason.one_process" if chosen.devices == 1 else "reason.data_parallel"
    reasons = [because("layout.data_parallel_size", code, **parameters)]
    for name in SIZES:
        value, idle = getattr(chosen, name), 0 if name == "zero_stage" else 1
        if getattr(wish, name) is not None and value == getattr(wish, name) and value != idle:
            reasons.append(because(f"layout.{name}", "reason.asked", value=value))
        elif value != idle and found is not None:
            reasons.append(because(f"layout.{name}", "reason.cut_to_fit", value=value, percent=percent(found.share)))
    return reasons


def _blind(ask: Ask) -> list[Reason]:
    asked = any(getattr(wish_of(ask), name) is not None for name in SIZES)
    return [because("layout", "reason.layout_blind", model=ask.spec.model)] if asked else []
