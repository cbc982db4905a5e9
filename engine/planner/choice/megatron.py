"""The layout of a MindSpeed-LLM job: the vendor's row if it fits, else the least cutting that does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from engine.catalog import ParallelConfigRow
from engine.plan import Layout, Reason
from engine.planner.ask import Ask
from engine.planner.choice.chosen import Choice, because, percent
from engine.planner.choice.micro_batch import raised
from engine.planner.layouts import CONTEXT_ABOVE, divides_length, is_even, legal
from engine.planner.memory import Estimate, Setting, device, estimate
from engine.planner.sizing import wish_of


@dataclass(frozen=True)
class Effort:
    """What is done to save memory; tried in order."""

    recompute: str
    even: bool
    reuse: bool


FULL = (Effort("full", True, False), Effort("full", False, False), Effort("full", False, True))
NONE = (Effort("none", True, False), Effort("none", False, False), Effort("none", False, True))
"""Those behind the first are only reached where recompute is ruled out: with it everything takes less."""


def choose(ask: Ask, setting: Setting) -> Choice | None:
    """None if no legal layout fits."""
    row = ask.catalog.parallel_configs.get((ask.spec.model, ask.spec.train.seq_length))
    for effort in FULL + NONE if setting.shape.experts is not None else NONE[:1] + FULL + NONE[1:]:
        fitting = [found for found in _estimates(ask, setting, effort) if found.fits]
        printed = [found for found in fitting if row is not None and _is_of(found.layout, row)]
        if fitting:
            best = min(printed or fitting, key=_cutting)
            return _explained(ask, setting, best, row if printed else None)
    return None


def _estimates(ask: Ask, setting: Setting, effort: Effort) -> Iterator[Estimate]:
    wish, devices = wish_of(ask), ask.spec.devices
    recompute = effort.recompute
    if wish.recompute not in (None, recompute):
        if not (wish.recompute == "selective" and recompute == "none"):
            return
        recompute = "selective"  # it saves less than is known: counted as none
    most = device.capacity(setting) or inf  # of what does not fit nothing is chosen
    for layout in legal(setting, devices, wish, recompute=recompute, even=effort.even, reuse=effort.reuse, most=most):
        if _divides(ask, layout):
            yield estimate(setting, layout)


def _divides(ask: Ask, layout: Layout) -> bool:
    """Can the requested batch be shared out over the replicas, and a sample be cut?"""
    train = ask.spec.train
    total, micro = train.global_batch_size, train.micro_batch_size or 1
    shared = total is None or total % (micro * layout.data_parallel_size) == 0
    return shared and divides_length(train.seq_length, layout.tensor_parallel_size, layout.context_parallel_size)


def _is_of(layout: Layout, row: ParallelConfigRow) -> bool:
    sizes = (layout.tensor_parallel_size, layout.pipeline_parallel_size, layout.context_parallel_size)
    return sizes == (row.tensor_parallel_size, row.pipeline_parallel_size, 1)


def _cutting(found: Estimate) -> tuple[int, int, int, float]:
    layout = found.layout
    cut = layout.tensor_parallel_size * layout.pipeline_parallel_size * layout.context_parallel_size
    return cut, layout.pipeline_parallel_size, layout.context_parallel_size, found.breakdown.total


def _explained(ask: Ask, setting: Setting, best: Estimate, row: ParallelConfigRow | None) -> Choice:
    found, micro = raised(ask, setting, best.layout)
    reasons = [*_sizes(ask, found.layout, row), *_saving(ask, setting, best), micro]
    return Choice(found.layout, found.micro_batch_size, found, tuple(reasons))


def _sizes(ask: Ask, layout: Layout, row: ParallelConfigRow | None) -> Iterator[Reason]:
    wish = wish_of(ask)
    tensor, pipeline = layout.tensor_parallel_size, layout.pipeline_parallel_size
    for name, size in (("tensor_parallel_size", tensor), ("pipeline_parallel_size", pipeline)):
        if getattr(wish, name) is not None:
            yield because(f"layout.{name}", "reason.asked", value=size)
        elif row is not None:
            yield because(f"layout.{name}", "reason.layout_table", value=size, source=row.source)
        else:
            code = "reason.tensor_least" if name == "tensor_parallel_size" else "reason.pipeline_least"
            yield because(f"layout.{name}", code, value=size)
    yield from _context(ask, layout)
    if layout.expert_parallel_size > 1:
        size = layout.expert_parallel_size
        yield because("layout.expert_parallel_size", "reason.expert_parallel", value=size)
    cut = layout.devices // layout.data_parallel_size
    yield because(
        "layout.data_parallel_size",
        "reason.replicas",
        value=layout.data_parallel_size,
        devices=layout.devices,
        cut=cut,
    )
    code = "reason.distributed_optimizer" if layout.zero_stage else "reason.no_distributed_optimizer"
    yield because("layout.zero_stage", code, replicas=layout.data_parallel_size * layout.context_parallel_size)


def _context(ask: Ask, layout: Layout) -> Iterator[Reason]:
    size, length = layout.context_parallel_size, ask.spec.train.seq_length
    if wish_of(ask).context_parallel_size is not None:
        yield because("layout.context_parallel_size", "reason.asked", value=size)
    elif length > CONTEXT_ABOVE:
        yield because("layout.context_parallel_size", "reason.context_long", value=size, limit=CONTEXT_ABOVE)
    elif size > 1:
        yield because("layout.context_parallel_size", "reason.context_fits", value=size, seq_length=length)


def _saving(ask: Ask, setting: Setting, best: Estimate) -> Iterator[Reason]:
    """Recompute, an uneven split, and reuse of the fp32 copy: why, or why not."""
    layout, share = best.layout, percent(best.share)
    if wish_of(ask).recompute is not None:
        yield because("layout.recompute", "reason.asked", value=layout.recompute)
    elif layout.recompute == "none":
        yield because("layout.recompute", "reason.recompute_none", percent=share)
    elif setting.shape.experts is not None:
        yield because("layout.recompute", "reason.recompute_mixture", percent=share)
    else:
        without = estimate(setting, layout.model_copy(update={"recompute": "none", "reuse_fp32_param": False}))
        yield because("layout.recompute", "reason.recompute_full", percent=share, without=percent(without.share))
    if not is_even(setting.shape, layout.pipeline_parallel_size):
        layers = setting.shape.num_hidden_layers
        size = layout.pipeline_parallel_size
        yield because("layout.pipeline_parallel_size", "reason.uneven_layers", layers=layers, value=size)
    if layout.reuse_fp32_param:
        yield because("layout.reuse_fp32_param", "reason.reuse_fp32", percent=share)
