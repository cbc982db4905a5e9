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
from jobs.foreign import is_foreign
from jobs.models import AuditEvent, Dataset, Team, Weights


class Unusable(Exception):
    """The file or folder has errors; nothing was registered."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(", ".join(problem.code for problem in problems))


def register_dataset(*, team: Team, user: User, name: str, path: str, format: str, note: str = "") -> Dataset:
    """Register a file that reads as this format, or renew its entry. Raises Unusable with file and line."""
    full = absolute(path)
    _refuse_foreign(full, team, "dataset.other_team", "train.dataset.path")
    _refuse_errors(dataset_check.problems(full, format, settings.ROOTS))
    rows = dataset_check.scan(Path(full), format).rows
    facts = {"name": name, "format": format, "rows": rows, "note": note, "created_by": user}
    entry, _created = Dataset.objects.update_or_create(team=team, path=full, defaults=facts)
    AuditEvent.objects.create(user=user, action="dataset.register", detail={"path": full, "team": team.pk})
    return entry


def register_weights(*, team: Team, user: User, name: str, path: str, model: str, note: str = "") -> Weights:
    """Register a folder with weights and tokenizer of a model, or renew its entry. Raises Unusable."""
    full = absolute(path)
    _refuse_foreign(full, team, "weights.other_team", "model_path")
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


def _refuse_foreign(path: str, team: Team, code: str, field: str) -> None:
    """What another team has registered is theirs: else registering it would be the way to read it."""
    if is_foreign(path, team):
        raise Unusable([Problem(code=code, field=field, parameters={"path": path[:200]})])


def _refuse_errors(problems: Iterable[Problem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise Unusable(errors)
