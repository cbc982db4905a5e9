"""How long the training will take, where the number of trained tokens and a speed are known."""

from __future__ import annotations

from engine.plan import Batch, Eta, Layout, Reason
from engine.planner.ask import Ask
from engine.planner.choice import because
from engine.planner.memory import Setting
from engine.planner.sizing import setting_of
from engine.planner.throughput import PEAK_FLOPS, Speed, on_cpu, scaled, speed


def eta(ask: Ask, layout: Layout, batch: Batch, reasons: list[Reason]) -> Eta | None:
    """A range with its basis; None with the reason why. Every sample is counted as full length: padding is work."""
    spec, setting = ask.spec, setting_of(ask)
    found = None if setting is None else _speed(ask, setting, layout)
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


def _speed(ask: Ask, setting: Setting, layout: Layout) -> Speed | None:
    """The nearest that is known: runs like this one, runs of another length, figures for such a job, the machine."""
    spec, known = ask.spec, ask.catalog.own_runs
    alike = known.get((spec.model, spec.framework, spec.train.strategy, spec.train.seq_length, spec.hardware), ())
    others = [
        (length, rate)
        for (model, framework, strategy, length, hardware), rates in known.items()
        if (model, framework, strategy, hardware) == (spec.model, spec.framework, spec.train.strategy, spec.hardware)
        for rate in rates
    ]
    if others and not alike:
        return scaled(setting, others)
    usual = speed(setting, spec.hardware, recompute=_recomputes(ask, layout), own_runs=alike)
    return usual or on_cpu(setting, layout.devices, ask.catalog.cpus)


def _basis(ask: Ask, found: Speed) -> Reason:
    rates = {"low": _rounded(found.low), "high": _rounded(found.high)}
    if found.basis == "own_runs":
        return because("eta", "reason.eta_own_runs", runs=found.runs, **rates)
    if found.basis == "own_runs_scaled":
        return because("eta", "reason.eta_own_runs_scaled", runs=found.runs, **rates)
    if found.mfu is None:
        machines = ask.catalog.cpus
        cores = max(machine.cores for machine in machines)
        gflops = round(max(machine.gflops or 0 for machine in machines))
        return because("eta", f"reason.eta_{found.basis}", cores=cores, gflops=gflops, **rates)
    teraflops = round(PEAK_FLOPS[ask.spec.hardware] / 1e12)
    return because("eta", "reason.eta_default_mfu", percent=round(100 * found.mfu), teraflops=teraflops, **rates)


def _rounded(rate: float) -> float:
    """A large model on a CPU makes less than a token a second."""
    return round(rate) if rate >= 10 else float(f"{rate:.2g}")
