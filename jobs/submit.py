"""The one way in: form, API and demo all submit here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction

from engine.catalog import Catalog
from engine.plan import Plan
from engine.planner import Unplannable, Verdict, check, plan
from engine.problems import Problem
from engine.spec import JobSpec
from jobs.attempts import add_run
from jobs.catalog import current
from jobs.datasets.versions import version_for_job
from jobs.foreign import foreign_problems
from jobs.judged import judged_rows
from jobs.models import AuditEvent, DatasetVersion, Job, Team
from jobs.own_runs import informed
from jobs.site_checks import site_problems


class Refused(Exception):
    """The request has errors; nothing was queued."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(", ".join(problem.code for problem in verdict.problems))


def submit(data: JobSpec | Mapping[str, Any], *, team: Team, user: User) -> Job:
    """Check a request, plan it and queue its first run.

    Relative paths are taken from the data folder. Raises Refused with every problem, and
    PermissionDenied when the user does not work in the team.
    """
    if not Team.objects.of(user).filter(pk=team.pk).exists():
        raise PermissionDenied(f"{user} does not work in {team}")
    data = with_absolute_paths(data)
    catalog = informed(current(), data, team)
    verdict, decided = _judge(data, catalog, files=True, team=team)
    if verdict.spec is None or decided is None:
        raise Refused(verdict)
    judgement = {**_judgement(verdict), "rows": judged_rows(verdict.spec, catalog)}
    version = version_for_job(verdict.spec.train.dataset.path, team)
    with transaction.atomic():
        job = _queue(verdict.spec, decided, judgement, team, user, version)
    return job


def preview(
    data: JobSpec | Mapping[str, Any], *, files: bool = True, team: Team | None = None
) -> tuple[Verdict, Plan | None]:
    """What the check says of a request, and the plan if it would be accepted. Writes nothing.

    team: whose registered data may be named, and from whose finished runs the time is estimated; None: nobody's.
    """
    data = with_absolute_paths(data)
    return _judge(data, informed(current(), data, team), files=files, team=team)


def _judge(data: Mapping[str, Any], catalog: Catalog, *, files: bool, team: Team | None) -> tuple[Verdict, Plan | None]:
    foreign = foreign_problems(data, team)
    verdict = check(
        data,
        catalog,
        files=files and not foreign,  # the check names rows and keys of what it reads
        roots=settings.ROOTS,
        also=lambda asked: (*site_problems(asked, catalog), *foreign),
    )
    if verdict.spec is None or not verdict.fits:
        return verdict, None
    try:
        return verdict, plan(verdict.spec, catalog)
    except Unplannable as refusal:
        return verdict.model_copy(update={"problems": _joined(verdict.problems, refusal.problems)}), None


def _joined(found: Iterable[Problem], refused: Iterable[Problem]) -> tuple[Problem, ...]:
    """The planner repeats what the check has found, some of it more severely."""
    errors = [problem for problem in refused if problem.severity == "error"]
    repeated = {(problem.code, problem.field) for problem in errors}
    return (*(problem for problem in found if (problem.code, problem.field) not in repeated), *errors)


def with_absolute_paths(data: JobSpec | Mapping[str, Any]) -> dict[str, Any]:
    """The request with relative paths taken from the data folder, not from wherever a process was started."""
    asked = data.model_dump(mode="json") if isinstance(data, JobSpec) else dict(data)
    if "model_path" in asked:
        asked["model_path"] = _absolute(asked["model_path"])
    train = asked.get("train")
    if isinstance(train, Mapping):
        asked["train"] = {
            **train,
            **{part: _within(train[part], name) for part, name in PATHS_OF_TRAIN.items() if part in train},
        }
    return asked


PATHS_OF_TRAIN = {"dataset": "path", "resume": "checkpoint_path"}


def _within(part: Any, name: str) -> Any:
    return {**part, name: _absolute(part[name])} if isinstance(part, Mapping) and name in part else part


def _absolute(path: Any) -> Any:
    """A wrong value is left to the check."""
    return str(Path(settings.DATA_DIR) / path) if isinstance(path, str) and path else path


def _queue(
    spec: JobSpec, decided: Plan, judgement: dict[str, Any], team: Team, user: User, version: DatasetVersion | None
) -> Job:
    job = Job.objects.create(
        team=team,
        owner=user,
        name=spec.name,
        model=spec.model,
        spec=spec.model_dump(mode="json"),
        plan=decided.model_dump(mode="json"),
        verdict=judgement,
    )
    run = add_run(job, version)
    AuditEvent.objects.create(user=user, action="job.submit", job=job, detail={"run": run.pk})
    return job


def _judgement(verdict: Verdict) -> dict[str, Any]:
    """Without the texts: these are made for each reader, in their language."""
    return {
        "problems": [problem.model_dump(mode="json") for problem in verdict.problems],
        "devices": verdict.devices.model_dump(mode="json"),
    }
