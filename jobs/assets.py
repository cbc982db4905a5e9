"""Registers datasets and weights for a team, after the engine has looked at them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User

from engine.planner.files import dataset as dataset_check
from engine.planner.files import weights as weights_check
from engine.problems import Problem
from jobs.catalog import current
from jobs.datasets.versions import current_version
from jobs.foreign import is_foreign, is_foreign_data
from jobs.models import AuditEvent, Dataset, Team, Weights

ROW_PROBLEMS = {"dataset.broken_rows"}
"""What is wrong with rows, not with the file."""


class Unusable(Exception):
    """The file or folder has errors; nothing was registered."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(", ".join(problem.code for problem in problems))


def register_dataset(*, team: Team, user: User, name: str, path: str, format: str, note: str = "") -> Dataset:
    """Register what lies there, or renew its entry. Raises Unusable when the path, or all of it, cannot be used.

    format: empty for "as it looks". Rows that cannot be used do not hinder it: the report names them one by one.
    """
    full = absolute(path)
    if is_foreign_data(full, team):
        raise _foreign(full, "dataset.other_team", "train.dataset.path")
    problems = dataset_check.problems(full, format or None, settings.ROOTS)
    _refuse_errors(problem for problem in problems if problem.code not in ROW_PROBLEMS)
    rows = dataset_check.rows(full, format or None, settings.ROOTS)
    facts = {"name": name, "format": format, "rows": rows, "note": note, "created_by": user, "removed": None}
    entry, _created = Dataset.with_removed.update_or_create(team=team, path=full, defaults=facts)
    current_version(entry)
    AuditEvent.objects.create(user=user, action="dataset.register", detail={"path": full, "team": team.pk})
    return entry


def register_weights(*, team: Team, user: User, name: str, path: str, model: str, note: str = "") -> Weights:
    """Register a folder with weights and tokenizer of a model, or renew its entry. Raises Unusable."""
    full = absolute(path)
    if is_foreign(full, team):
        raise _foreign(full, "weights.other_team", "model_path")
    catalog = current()
    wanted = weights_check.Wanted(catalog, catalog.models.get(model), None, None)
    _refuse_errors(weights_check.problems(full, wanted, settings.ROOTS))
    facts = {"name": name, "model": model, "note": note, "created_by": user}
    entry, _created = Weights.objects.update_or_create(team=team, path=full, defaults=facts)
    AuditEvent.objects.create(user=user, action="weights.register", detail={"path": full, "team": team.pk})
    return entry


def absolute(path: str) -> str:
    """A relative path is taken from the data folder, as in a request for a job."""
    return str(Path(settings.DATA_DIR) / path)


def _foreign(path: str, code: str, field: str) -> Unusable:
    """What another team has registered is theirs: else registering it would be the way to read it."""
    return Unusable([Problem(code=code, field=field, parameters={"path": path[:200]})])


def _refuse_errors(problems: Iterable[Problem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise Unusable(errors)
