"""`plan`: every decision about a job, each with its reason. A pure function of spec and catalog."""

from __future__ import annotations

from collections.abc import Sequence

from engine.catalog import Catalog
from engine.frameworks import description
from engine.frameworks.native.stages import stages
from engine.plan import Batch, Layout, Plan, Reason
from engine.planner.ask import round_up
from engine.planner.checking import check
from engine.problems import Problem
from engine.spec import JobSpec

TOKENS_AT_ONCE = 4096
"""A micro-batch is chosen to hold at most this many tokens, so that logits and activations stay small."""
USUAL_BATCH = 8
"""Samples of one iteration where the person does not say: few, since a CPU is slow."""


class Unplannable(Exception):
    """The request has errors. `problems` holds all findings, the warnings and notes too."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(", ".join(problem.code for problem in problems if problem.severity == "error"))
        self.problems = tuple(problems)


def plan(spec: JobSpec, catalog: Catalog) -> Plan:
    """Decide what the request leaves open. Raises Unplannable."""
    problems = [_as_error(problem) for problem in check(spec, catalog).problems]
    if any(problem.severity == "error" for problem in problems):
        raise Unplannable(problems)
    assert description(spec.framework).launchable, spec.framework
    reasons: list[Reason] = []
    layout = _layout(spec, reasons)
    batch = _batch(spec, layout, reasons)
    reasons.append(Reason(decision="memory", code="reason.no_memory_estimate"))
    reasons.append(Reason(decision="eta", code="reason.no_eta"))
    return Plan(layout=layout, batch=batch, memory=None, eta=None, reasons=tuple(reasons), stages=stages(spec, layout))


def _as_error(problem: Problem) -> Problem:
    """What a check may pass with a warning, a plan cannot: there is nothing to start."""
    if problem.code == "framework.not_launchable":
        return problem.model_copy(update={"severity": "error"})
    return problem


def _layout(spec: JobSpec, reasons: list[Reason]) -> Layout:
    code = "reason.one_process" if spec.devices == 1 else "reason.data_parallel"
    reasons.append(Reason(decision="layout.data_parallel_size", code=code, parameters={"devices": spec.devices}))
    return Layout(devices=spec.devices, data_parallel_size=spec.devices)


def _batch(spec: JobSpec, layout: Layout, reasons: list[Reason]) -> Batch:
    train, replicas = spec.train, layout.data_parallel_size
    micro = train.micro_batch_size or _micro(spec, replicas, reasons)
    total = train.global_batch_size or _total(micro, replicas, train.micro_batch_size, reasons)
    return Batch(
        micro_batch_size=micro,
        global_batch_size=total,
        gradient_accumulation_steps=total // (micro * replicas),
        train_iters=train.train_iters,
        epochs=_epochs(spec, reasons),
    )


def _micro(spec: JobSpec, replicas: int, reasons: list[Reason]) -> int:
    """The largest that divides the samples of a replica and keeps to TOKENS_AT_ONCE."""
    total = spec.train.global_batch_size
    share = USUAL_BATCH if total is None else total // replicas
    most = max(1, TOKENS_AT_ONCE // spec.train.seq_length)
    if total is None:
        most = min(most, max(1, USUAL_BATCH // replicas))
    micro = max(number for number in range(1, min(share, most) + 1) if share % number == 0)
    parameters = {"micro_batch_size": micro, "tokens": TOKENS_AT_ONCE, "seq_length": spec.train.seq_length}
    reasons.append(Reason(decision="batch.micro_batch_size", code="reason.micro_batch_size", parameters=parameters))
    return micro


def _total(micro: int, replicas: int, given: int | None, reasons: list[Reason]) -> int:
    """A given micro-batch is not accumulated; else the least whole number of rounds with USUAL_BATCH samples."""
    unit = micro * replicas
    total = unit if given is not None else round_up(USUAL_BATCH, unit)
    parameters = {"global_batch_size": total, "micro_batch_size": micro, "data_parallel_size": replicas}
    reasons.append(Reason(decision="batch.global_batch_size", code="reason.global_batch_size", parameters=parameters))
    return total


def _epochs(spec: JobSpec, reasons: list[Reason]) -> float | None:
    """Null when `train_iters` is given: it wins."""
    train = spec.train
    if train.train_iters is not None:
        if train.epochs is not None:
            parameters = {"train_iters": train.train_iters, "epochs": train.epochs}
            reasons.append(Reason(decision="batch.epochs", code="reason.train_iters_win", parameters=parameters))
        return None
    if train.epochs is None:
        reasons.append(Reason(decision="batch.epochs", code="reason.one_epoch"))
        return 1.0
    return train.epochs
