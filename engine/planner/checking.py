"""`check`: every problem of a request at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.catalog import Catalog
from engine.plan import DeviceNeed
from engine.planner import files as file_checks
from engine.planner.answer import device_need
from engine.planner.ask import CELL, Ask
from engine.planner.instead import instead
from engine.planner.nearest import changed, differences
from engine.planner.rules import RULES
from engine.planner.shape import Shape, look
from engine.planner.verdict import Question, Verdict
from engine.problems import Problem
from engine.spec import JobSpec

Asked = JobSpec | Mapping[str, Any]


def check(
    data: Asked,
    catalog: Catalog,
    *,
    files: bool = False,
    roots: Sequence[Path] | None = None,
    also: Callable[[Asked], Iterable[Problem]] = lambda _: (),
) -> Verdict:
    """Check a request, whatever its shape. Raises nothing that a person's request could cause.

    files: look at the dataset and the model folder too; roots: the folders in which they must lie
    (None: anywhere). also: further rules, such as a site's; what they find on a field that has an error
    already is left out, and no change is proposed that they refuse.
    """
    shape = look(data)
    ask = Ask(shape.spec, catalog)

    def found(asked: Asked, shape: Shape, ask: Ask) -> list[Problem]:
        looked = file_checks.problems(shape, ask, roots) if files else ()
        problems = [*shape.problems, *_by_rules(shape, ask), *looked]
        wrong = {problem.field for problem in problems if problem.severity == "error"}
        return [*problems, *(problem for problem in also(asked) if problem.field not in wrong)]

    def of(spec: JobSpec) -> list[Problem]:
        return found(spec, Shape(spec), Ask(spec, catalog))

    problems = [_without_refused_cure(problem, shape.spec, also) for problem in found(data, shape, ask)]
    need = _need(shape, ask)
    asked = all(shape.has(path) for path in (*CELL, "devices"))
    return Verdict(
        spec=None if shape.problems else shape.spec,
        problems=tuple(problems),
        devices=need,
        nearest=() if shape.problems else differences(ask, problems, of),
        question=Question.of(shape.spec) if asked else None,
        instead=instead(ask, need, problems) if asked else (),
    )


def _without_refused_cure(problem: Problem, spec: JobSpec, also: Callable[[Asked], Iterable[Problem]]) -> Problem:
    """The problem without its proposed change where no request can hold it, or the further rules refuse it."""
    if not problem.nearest:
        return problem
    other = changed(spec, problem.nearest)
    refused = () if other is None else (one.field for one in also(other) if one.severity == "error")
    useless = other is None or set(refused) & problem.nearest.keys()
    return problem.model_copy(update={"nearest": {}}) if useless else problem


def _by_rules(shape: Shape, ask: Ask) -> list[Problem]:
    usable = (rule for rule in RULES if all(shape.has(path) for path in rule.reads))
    return [problem for rule in usable for problem in rule.find(ask)]


def _need(shape: Shape, ask: Ask) -> DeviceNeed:
    if not all(shape.has(path) for path in (*CELL, "train.lora")):
        return DeviceNeed(table=None, unsupported=False)
    return device_need(ask)
