"""Batch sizes: global = micro × data parallel × accumulation steps."""

from __future__ import annotations

from engine.plan import Batch, Layout, Reason
from engine.planner.ask import Ask, round_up
from engine.planner.choice import because
from engine.planner.choice.deepspeed import rows_of
from engine.planner.choice.native_micro import USUAL_NATIVE
from engine.spec import JobSpec

USUAL_BATCH = {"native": USUAL_NATIVE, "mindspeed-llm": 64}
"""Samples of one iteration where the person does not say: as many as most published
MindSpeed-LLM scripts have."""
USUAL_ACCUMULATION = 8
"""LLaMA-Factory's in nearly all rows of the vendor's table."""


def batch(ask: Ask, layout: Layout, micro: int, reasons: list[Reason]) -> Batch:
    """With a micro-batch that has been chosen; says why for what is decided here."""
    spec, replicas = ask.spec, layout.data_parallel_size
    total = spec.train.global_batch_size or _total(ask, layout, micro, reasons)
    return Batch(
        micro_batch_size=micro,
        global_batch_size=total,
        gradient_accumulation_steps=total // (micro * replicas),
        train_iters=spec.train.train_iters,
        epochs=_epochs(spec, reasons),
    )


def _total(ask: Ask, layout: Layout, micro: int, reasons: list[Reason]) -> int:
    """The least whole number of rounds that holds the usual number of samples; native does not accumulate where
    the micro-batch is given, and a pipeline gets at least as many micro-batches as it has stages."""
    unit = micro * layout.data_parallel_size
    if ask.spec.framework == "llama-factory":
        return _accumulated(ask, unit, reasons)
    usual = max(USUAL_BATCH[ask.spec.framework], unit * layout.pipeline_parallel_size)
    alone = ask.spec.framework == "native" and ask.spec.train.micro_batch_size is not None
    total = unit if alone else round_up(usual, unit)
    parameters = {
        "global_batch_size": total,
        "micro_batch_size": micro,
        "data_parallel_size": layout.data_parallel_size,
    }
    reasons.append(because("batch.global_batch_size", "reason.global_batch_size", **parameters))
    return total


def _accumulated(ask: Ask, unit: int, reasons: list[Reason]) -> int:
    printed = next((row for row in rows_of(ask) if row.gradient_accumulation_steps is not None), None)
    place, total = "batch.global_batch_size", unit * USUAL_ACCUMULATION
    if printed is None or printed.gradient_accumulation_steps is None:
        reasons.append(because(place, "reason.accumulation_usual", value=total, steps=USUAL_ACCUMULATION))
        return total
    steps, total = printed.gradient_accumulation_steps, unit * printed.gradient_accumulation_steps
    reasons.append(because(place, "reason.accumulation_table", value=total, steps=steps, source=printed.source))
    return total


def _epochs(spec: JobSpec, reasons: list[Reason]) -> float | None:
    """Null when `train_iters` is given: it wins."""
    train = spec.train
    if train.train_iters is not None:
        if train.epochs is not None:
            parameters = {"train_iters": train.train_iters, "epochs": train.epochs}
            reasons.append(because("batch.epochs", "reason.train_iters_win", **parameters))
        return None
    if train.epochs is None:
        reasons.append(because("batch.epochs", "reason.one_epoch"))
        return 1.0
    return train.epochs
