"""The nearest requests that fit: candidates from the problems and the tables, each checked before it is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from engine.planner.ask import Ask
from engine.planner.rules.devices import usable
from engine.problems import Problem, Value
from engine.spec import JobSpec

Difference = dict[str, Value]
LIMIT = 4
_OF_DEVICES = ("devices.too_few", "devices.unsupported", "framework.not_for_model", "framework.native_cpu_only")


def differences(ask: Ask, problems: Sequence[Problem], fits: Callable[[JobSpec], bool]) -> tuple[Difference, ...]:
    """At most LIMIT differences of the spec, the smallest first, for which `fits` is true."""
    found: list[Difference] = []
    for difference in _candidates(ask, [problem for problem in problems if problem.severity == "error"]):
        if len(found) == LIMIT:
            break
        known = any(old.items() <= difference.items() for old in found)
        if difference and not known and fits(changed(ask.spec, difference)):
            found.append(difference)
    return tuple(found)


def changed(spec: JobSpec, difference: Difference) -> JobSpec:
    """The spec with some fields, by dotted path, set to other values."""
    data = spec.model_dump()
    for path, value in difference.items():
        part: dict[str, Any] = data
        *parents, last = path.split(".")
        for parent in parents:
            part = part[parent]
        part[last] = value
    return JobSpec.model_validate(data)


def _candidates(ask: Ask, errors: Sequence[Problem]) -> Iterator[Difference]:
    cures = _merged(errors)
    yield cures
    others = _merged(problem for problem in errors if problem.code not in _OF_DEVICES)
    if len(others) < len(cures) or any(problem.code in _OF_DEVICES for problem in errors):
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
    for framework in ask.model.frameworks if ask.model is not None else ():
        yield from _other_framework(ask, framework)


def _other_framework(ask: Ask, framework: str) -> Iterator[Difference]:
    """Another framework, with the devices that it needs."""
    if framework == ask.spec.framework:
        return
    if framework == "native":
        yield {"framework": framework, "hardware": "cpu"}
        return
    yield {"framework": framework}
    train = ask.spec.train
    key = (ask.spec.model, train.strategy, train.seq_length, framework, ask.spec.hardware)
    cell = ask.catalog.min_devices.get(key)
    if cell is not None and cell.devices is not None and ask.hardware is not None:
        yield {"framework": framework, "devices": usable(max(cell.devices, ask.spec.devices), ask.hardware)}
