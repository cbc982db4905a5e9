"""How long the training will take, where the number of trained tokens and a speed are known."""

from __future__ import annotations

from engine.plan import Batch, Eta, Layout, Reason
from engine.planner.ask import Ask
from engine.planner.choice import because
from engine.planner.sizing import setting_of
from engine.planner.throughput import PEAK_FLOPS, Speed, speed


def eta(ask: Ask, layout: Layout, batch: Batch, reasons: list[Reason]) -> Eta | None:
    """A range with its basis; None with the reason why. Every sample is counted as full length: padding is work."""
    spec, setting = ask.spec, setting_of(ask)
    key = (spec.model, spec.framework, spec.train.strategy, spec.train.seq_length, spec.hardware)
    runs = ask.catalog.own_runs.get(key, ())
    again = _recomputes(ask, layout)
    found = None if setting is None else speed(setting, spec.hardware, recompute=again, own_runs=runs)
    if found is None:
        reasons.append(because("eta", "reason.no_eta"))
        return None
    reasons.append(_basis(ask, found))
    if batch.train_iters is None:
        reasons.append(because("eta", "reason.eta_after_preprocessing"))
        return None
    tokens = batch.train_iters * batch.global_batch_size * spec.train.seq_length
    low, high = (tokens / (rate * layout.devices) for rate in (found.high, found.low))
    return Eta(seconds_low=round(low, 1), seconds_high=round(high, 1), basis=found.basis)


def _recomputes(ask: Ask, layout: Layout) -> bool:
    """LLaMA-Factory's usual share is without its recompute; MindSpeed-LLM's mixtures were published with it."""
    shape = ask.catalog.architectures.get(ask.spec.model)
    published_with = ask.spec.framework == "mindspeed-llm" and shape is not None and shape.experts is not None
    return layout.recompute == "full" and not published_with


def _basis(ask: Ask, found: Speed) -> Reason:
    rates = {"low": round(found.low), "high": round(found.high)}
    if found.mfu is None:
        return because("eta", "reason.eta_own_runs", runs=found.runs, **rates)
    teraflops = round(PEAK_FLOPS[ask.spec.hardware] / 1e12)
    return because("eta", "reason.eta_default_mfu", percent=round(100 * found.mfu), teraflops=teraflops, **rates)
