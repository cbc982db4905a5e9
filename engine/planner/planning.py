"""`plan`: every decision about a job, each with its reason. A pure function of spec and catalog."""

from __future__ import annotations

from collections.abc import Sequence

from engine.catalog import Catalog
from engine.frameworks import stages
from engine.plan import Memory, Plan, Reason
from engine.planner.ask import Ask
from engine.planner.batching import batch
from engine.planner.checking import check
from engine.planner.choice import Choice, because, choose
from engine.planner.eta import eta
from engine.problems import Problem
from engine.spec import JobSpec


class Unplannable(Exception):
    """The request has errors. `problems` holds all findings, the warnings and notes too."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(", ".join(problem.code for problem in problems if problem.severity == "error"))
        self.problems = tuple(problems)


def plan(spec: JobSpec, catalog: Catalog) -> Plan:
    """What will be started. Raises Unplannable."""
    problems = check(spec, catalog).problems
    if any(problem.severity == "error" for problem in problems):
        raise Unplannable(problems)
    ask = Ask(spec, catalog)
    choice = choose(ask)
    if choice is None:
        parameters = {"devices": ask.spec.devices, "seq_length": ask.spec.train.seq_length}
        raise Unplannable([Problem(code="layout.none", field="devices", parameters=parameters)])
    reasons = list(choice.reasons)
    sizes = batch(ask, choice.layout, choice.micro_batch_size, reasons)
    memory = _memory(ask, choice, reasons)
    time = eta(ask, choice.layout, sizes, reasons)
    template = "" if ask.model is None else ask.model.template
    made = stages(ask.spec, choice.layout, sizes, ask.shape, nodes=_nodes(ask), template=template)
    return Plan(layout=choice.layout, batch=sizes, memory=memory, eta=time, reasons=tuple(reasons), stages=made)


def _nodes(ask: Ask) -> int:
    """Processes on a CPU are as many as one likes, on one machine."""
    if ask.hardware is None or ask.hardware.name == "cpu":
        return 1
    return -(-ask.spec.devices // ask.hardware.devices_per_node)


def _memory(ask: Ask, choice: Choice, reasons: list[Reason]) -> Memory | None:
    if choice.estimate is None:
        reasons.append(because("memory", "reason.no_memory_estimate", model=ask.spec.model))
        return None
    code = "reason.memory_native" if ask.on_cpu else "reason.memory_model"
    reasons.append(because("memory", code))
    return choice.estimate.memory()
