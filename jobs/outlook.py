"""What the form's panel is told: the check's answer, and every decision that can already be made.

More than `preview`, which answers whether a job would be queued: what no node could start is planned all the same, and
so is a job whose files are still to be named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from engine.catalog import Catalog
from engine.frameworks import description
from engine.plan import Eta, Plan
from engine.planner import Unplannable, Verdict
from engine.planner import plan as planned
from engine.planner.files.dataset import rows
from engine.planner.nearest import changed
from engine.planner.shape import look
from engine.spec import ColumnNames, JobSpec, TagNames
from jobs.catalog import current
from jobs.models import Team
from jobs.own_runs import informed
from jobs.site_checks import ABOUT_NODES
from jobs.submit import preview, with_absolute_paths

_NAMES = {
    "name", "model_path", "train.dataset.path", "train.dataset.format", "train.dataset.template",
    "train.dataset.train_on", "train.dataset.broken_rows", "train.packing",
    *(f"train.dataset.columns.{name}" for name in ColumnNames.model_fields),
    *(f"train.dataset.tags.{name}" for name in TagNames.model_fields),
}  # fmt: skip
"""Fields on which no decision depends."""


@dataclass(frozen=True)
class Timing:
    """How long a job takes whose number of iterations follows from the rows of its dataset."""

    rows: int
    iterations: int
    eta: Eta


@dataclass(frozen=True)
class Outlook:
    verdict: Verdict
    asked: JobSpec | None
    """The request, with stand-ins for files that are still to be named; null where no plan can be made."""
    plan: Plan | None
    timing: Timing | None = None
    """Null where the plan knows the time itself, or nobody does."""


def outlook(data: JobSpec | Mapping[str, Any], *, files: bool = True, team: Team | None = None) -> Outlook:
    """Like `preview`, writes nothing and raises nothing that a request could cause."""
    verdict, plan = preview(data, files=files, team=team)
    verdict = _not_here(verdict, data)
    shape = look(with_absolute_paths(data))
    if shape.wrong - _NAMES:
        return Outlook(verdict, None, None)
    catalog = informed(current(), shape.spec, team)
    plan = plan or _decided(shape.spec, catalog)
    read = files and shape.has("train.dataset") and not _wrong_data(verdict)
    timing = _timing(shape.spec, plan, catalog) if plan is not None and read else None
    return Outlook(verdict, shape.spec, plan, timing)


def _wrong_data(verdict: Verdict) -> bool:
    """Nothing is told of data that may not be read."""
    return any(problem.field == "train.dataset.path" and problem.severity == "error" for problem in verdict.problems)


def _not_here(verdict: Verdict, data: JobSpec | Mapping[str, Any]) -> Verdict:
    """What the tables speak of can be planned where there is no such node: then a warning says that it cannot start.

    Whoever submits it is refused.
    """
    shape = look(data)
    if not shape.has("framework") or not description(shape.spec.framework).table:
        return verdict
    milder = (
        problem.model_copy(update={"severity": "warning"}) if problem.code in ABOUT_NODES else problem
        for problem in verdict.problems
    )
    return verdict.model_copy(update={"problems": tuple(milder)})


def _decided(spec: JobSpec, catalog: Catalog) -> Plan | None:
    try:
        return planned(spec, catalog)
    except Unplannable:
        return None


def _timing(spec: JobSpec, plan: Plan, catalog: Catalog) -> Timing | None:
    """With the rows that the check has counted; every sample at full length, as the time's reason says."""
    if plan.eta is not None or plan.batch.epochs is None:
        return None
    counted = rows(spec.train.dataset.path, spec.train.dataset, settings.ROOTS)
    if not counted:
        return None
    iterations = math.ceil(counted * plan.batch.epochs / plan.batch.global_batch_size)
    asked = changed(spec, {"train.train_iters": iterations, "train.epochs": None})
    timed = None if asked is None else _decided(asked, catalog)
    return None if timed is None or timed.eta is None else Timing(counted, iterations, timed.eta)
