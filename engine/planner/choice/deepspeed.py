"""The ZeRO stage of a LLaMA-Factory job: the vendor's if it fits, else the lowest that leaves a fifth free."""

from __future__ import annotations

from collections.abc import Iterator

from engine.catalog import AccumulationRow
from engine.plan import Layout, Reason
from engine.planner.ask import Ask
from engine.planner.choice.chosen import Choice, because, percent
from engine.planner.choice.micro_batch import raised
from engine.planner.layouts import legal
from engine.planner.memory import Estimate, Setting, estimate
from engine.planner.memory.constants import LLAMA_FACTORY_HEADROOM
from engine.planner.sizing import wish_of


def choose(ask: Ask, setting: Setting) -> Choice | None:
    """None if no ZeRO stage fits."""
    layouts = legal(setting, ask.spec.devices, wish_of(ask), recompute="full")
    fitting = [found for found in (estimate(setting, layout) for layout in layouts) if found.fits]
    if not fitting:
        return None
    best, reason = _best(ask, fitting)
    found, micro = raised(ask, setting, best.layout, LLAMA_FACTORY_HEADROOM)
    always = because("layout.recompute", "reason.recompute_always")
    reasons = (_replicas(best.layout), reason, always, micro)
    return Choice(found.layout, found.micro_batch_size, found, reasons)


def _replicas(layout: Layout) -> Reason:
    """ZeRO-0 shares out the batches alone; each device holds all states."""
    whole = "reason.one_process" if layout.devices == 1 else "reason.whole_replicas"
    code = "reason.zero_replicas" if layout.zero_stage else whole
    return because("layout.data_parallel_size", code, devices=layout.devices)


def _best(ask: Ask, fitting: list[Estimate]) -> tuple[Estimate, Reason]:
    """`fitting` is in the order of the stages, the lowest first."""
    place = "layout.zero_stage"
    lowest = fitting[0]
    if wish_of(ask).zero_stage is not None:
        return lowest, because(place, "reason.asked", value=lowest.layout.zero_stage)
    if lowest.layout.devices == 1:
        return lowest, because(place, "reason.zero_alone", percent=percent(lowest.share))
    if lowest.capacity is None:
        last = fitting[-1]
        return last, because(place, "reason.zero_unknown", value=last.layout.zero_stage)
    roomy = next((found for found in fitting if found.share <= LLAMA_FACTORY_HEADROOM), None)
    sources = {row.zero_stage: row.source for row in rows_of(ask) if row.zero_stage is not None}
    printed = [found for found in fitting if found.layout.zero_stage in sources]
    if printed:
        first = next((found for found in printed if found.share <= LLAMA_FACTORY_HEADROOM), printed[-1])
        stage = first.layout.zero_stage
        return first, because(place, "reason.zero_table", value=stage, source=sources[stage])
    if roomy is not None:
        stage, share = roomy.layout.zero_stage, percent(roomy.share)
        return roomy, because(place, "reason.zero_roomy", value=stage, percent=share)
    tight = min(fitting, key=lambda found: found.share)
    return tight, because(place, "reason.zero_tight", value=tight.layout.zero_stage, percent=percent(tight.share))


def rows_of(ask: Ask) -> Iterator[AccumulationRow]:
    """The vendor's rows for this model, strategy and length."""
    train = ask.spec.train
    for row in ask.catalog.accumulations:
        if (row.model, row.strategy, row.seq_length) == (ask.spec.model, train.strategy, train.seq_length):
            yield row
