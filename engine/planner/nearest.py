"""The nearest requests that fit: candidates from the problems and the tables, each checked before it is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

from pydantic import ValidationError

from engine.planner.ask import Ask
from engine.planner.rules.devices import usable
from engine.planner.rules.memory import native_estimate
from engine.problems import Problem, Value
from engine.spec import JobSpec

Difference = dict[str, Value]
Find = Callable[[JobSpec], Sequence[Problem]]
LIMIT = 4
ROUNDS = 3
"""A cure can make another one necessary: more devices, then a batch that they divide."""
USUAL_MACHINE_GIB = 256
"""A larger model is not sent to the CPU."""
_OTHER_WAYS = (
    "batch.not_divisible",
    "batch.not_of_micro",
    "devices.memory",
    "devices.memory_never",
    "layout.none",
    "devices.too_few",
    "devices.too_few_for_shorter",
    "devices.unsupported",
    "framework.not_for_model",
    "framework.native_cpu_only",
)
"""Problems that can be got round: by less work, another framework, a batch that the planner chooses."""


def differences(ask: Ask, problems: Sequence[Problem], find: Find) -> tuple[Difference, ...]:
    """At most LIMIT differences of the spec, the smallest change first, after which `find` finds no error."""
    found: list[Difference] = []
    for candidate in _candidates(ask, _errors(problems)):
        if len(found) == LIMIT:
            break
        difference = _cured(ask.spec, candidate, find)
        if difference and not any(old.items() <= difference.items() for old in found):
            found.append(difference)
    return tuple(found)


def _errors(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.severity == "error"]


def _cured(spec: JobSpec, difference: Difference, find: Find) -> Difference | None:
    """The difference with what else it makes necessary; None if it does not lead to a request that fits."""
    for _ in range(ROUNDS):
        other = changed(spec, difference)
        if other is None:
            return None
        errors = _errors(find(other))
        if not errors:
            return {path: value for path, value in difference.items() if value != value_at(spec, path)}
        cures = _merged(errors)
        if not cures or cures.items() <= difference.items():
            return None
        difference = {**difference, **cures}
    return None


def value_at(spec: JobSpec, path: str) -> Any:
    """The value of a spec by dotted path."""
    return reduce(getattr, path.split("."), spec)


def changed(spec: JobSpec, difference: Difference) -> JobSpec | None:
    """The spec with some fields, by dotted path, set to other values; None where no request can hold these.

    A rule may propose more devices than the field takes, and a table row may name a framework that is none.
    """
    data = spec.model_dump()
    for path, value in difference.items():
        part: dict[str, Any] = data
        *parents, last = path.split(".")
        for parent in parents:
            part = part[parent]
        part[last] = value
    try:
        return JobSpec.model_validate(data)
    except ValidationError:
        return None


def _candidates(ask: Ask, errors: Sequence[Problem]) -> Iterator[Difference]:
    cures = _merged(errors)
    yield cures
    others = _merged(problem for problem in errors if problem.code not in _OTHER_WAYS)
    if len(others) < len(cures) or any(problem.code in _OTHER_WAYS for problem in errors):
        for alternative in _alternatives(ask):
            yield {**others, **alternative}
            yield {**cures, **alternative}


def _merged(problems: Iterable[Problem]) -> Difference:
    """All cures at once; where two name the same field the larger number holds."""
    merged: Difference = {}
    for problem in problems:
        for path, value in problem.nearest.items():
            old = merged.get(path)
            larger = isinstance(old, int) and isinstance(value, int) and old > value
            merged[path] = old if larger else value
    return merged


def _alternatives(ask: Ask) -> Iterator[Difference]:
    """One change that asks for less or goes another way: strategy, length, framework, hardware."""
    spec, rows = ask.spec, list(ask.catalog.min_devices.values())
    yield {"train.strategy": "lora" if spec.train.strategy == "full" else "full"}
    shorter = {row.seq_length for row in rows if row.model == spec.model and row.seq_length < spec.train.seq_length}
    for length in sorted(shorter, reverse=True):
        yield {"train.seq_length": length}
    if spec.train.micro_batch_size is not None:
        yield {"train.micro_batch_size": None}
    for framework in ask.model.frameworks if ask.model is not None else ():
        yield from _other_framework(ask, framework)


def _other_framework(ask: Ask, framework: str) -> Iterator[Difference]:
    """Another framework, with the devices that it needs."""
    if framework == ask.spec.framework:
        return
    if framework == "native":
        if _small_enough(ask):
            yield {"framework": framework, "hardware": "cpu"}
        return
    yield {"framework": framework}
    train = ask.spec.train
    key = (ask.spec.model, train.strategy, train.seq_length, framework, ask.spec.hardware)
    cell = ask.catalog.min_devices.get(key)
    if cell is not None and cell.devices is not None and ask.hardware is not None:
        yield {"framework": framework, "devices": usable(max(cell.devices, ask.spec.devices), ask.hardware)}


def _small_enough(ask: Ask) -> bool:
    """Would a process of our own engine fit into a usual machine? Where that is not known it is the person's choice."""
    spec = changed(ask.spec, {"framework": "native", "hardware": "cpu"})
    found = None if spec is None else native_estimate(Ask(spec, ask.catalog))
    needed = None if found is None else found.parameters["needed"]
    return not isinstance(needed, float) or needed <= USUAL_MACHINE_GIB
