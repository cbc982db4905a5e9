"""The JSON API under /api/: the same journey as the form and the command line, with the same answers.

A session logs in, and CSRF is checked, as for the pages. `plan` answers byte for byte what
`python -m engine plan --json` prints. Refusals are findings in the shape of `check`, with status 422.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.security import django_auth

from engine.plan import DeviceNeed
from engine.planner import Verdict
from engine.problems import Problem
from engine.spec import JobSpec, canonical_json
from jobs.models import Job, Run, Team
from jobs.submit import Refused, preview, submit
from webui.history import JobFilter, jobs_of, page
from webui.reader import language

SPEC_BODY = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": JobSpec.model_json_schema()}}}
}
api = NinjaAPI(title="Trainyard", version="1", auth=django_auth, docs_url=None, openapi_url="/openapi.json")
"""No page of documentation: ninja's loads its scripts from elsewhere. The description is at /api/openapi.json."""


@api.post("/check", openapi_extra=SPEC_BODY, summary="Everything that is wrong with a request, and what would fit")
def check(request: HttpRequest) -> HttpResponse:
    return _verdict(_asked(request)[0], 200)


@api.post("/plan", openapi_extra=SPEC_BODY, summary="Every decision about a request, with reasons and commands")
def plan(request: HttpRequest) -> HttpResponse:
    verdict, decided = _asked(request)
    if decided is None:
        return _verdict(verdict, 422)
    return HttpResponse(canonical_json(decided), content_type="application/json")


@api.post("/jobs", openapi_extra=SPEC_BODY, summary="Queue a job; `team` is a name, by default the first of yours")
def create_job(request: HttpRequest, team: str = "") -> HttpResponse:
    user = cast(User, request.user)
    teams = Team.objects.of(user)
    chosen = teams.filter(name=team).first() if team else teams.first()
    if chosen is None:
        return _error(403, "team.not_yours", _("You do not work in such a team."))
    body = _body(request)
    if isinstance(body, Verdict):
        return _verdict(body, 422)
    try:
        job = submit(body, team=chosen, user=user)
    except Refused as refusal:
        return _verdict(refusal.verdict, 422)
    return _json(_details(job), 201)


@api.get("/jobs", summary="Jobs of your teams, newest first; `after` is the `next` of the page before")
def list_jobs(request: HttpRequest, after: str = "") -> HttpResponse:
    filters = JobFilter(request.GET, jobs_of(request.user), request.user)
    found = page(filters.qs, after)
    jobs = [_summary(job, job.last) for job in found.jobs]  # type: ignore[attr-defined]
    return _json({"jobs": jobs, "next": found.next_cursor})


@api.get("/jobs/{int:job_id}", summary="One job, with its spec, its plan and its runs")
def get_job(request: HttpRequest, job_id: int) -> HttpResponse:
    job = Job.objects.visible_to(request.user).select_related("team", "owner").filter(pk=job_id).first()
    if job is None:
        return _error(404, "job.unknown", _("There is no such job, or it belongs to another team."))
    return _json(_details(job))


def _asked(request: HttpRequest) -> tuple[Verdict, Any]:
    body = _body(request)
    return (body, None) if isinstance(body, Verdict) else preview(body)


def _body(request: HttpRequest) -> Mapping[str, Any] | Verdict:
    """The request as it was sent, however wrong; a verdict where there is none to look at."""
    try:
        data = json.loads(request.body.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        return _refusal("spec.not_json", line=error.lineno, column=error.colno, error=error.msg)
    except (ValueError, RecursionError) as error:
        return _refusal("spec.not_json", line=1, column=1, error=str(error)[:200])
    return data if isinstance(data, Mapping) else _refusal("shape.not_object")


def _refusal(code: str, **parameters: Any) -> Verdict:
    problem = Problem(code=code, field="", parameters=parameters)
    return Verdict(spec=None, problems=(problem,), devices=DeviceNeed(table=None, unsupported=False))


def _summary(job: Job, last: Run | None) -> dict[str, Any]:
    return {
        "id": job.pk,
        "name": job.name,
        "model": job.model,
        "team": job.team.name,
        "owner": job.owner.get_username(),
        "created": job.created.isoformat(),
        "run": _run(last) if last else None,
    }


def _details(job: Job) -> dict[str, Any]:
    runs = list(job.runs.order_by("number"))
    last = runs[-1] if runs else None
    stored = {"spec": job.spec, "plan": job.plan, "verdict": job.verdict}
    return {**_summary(job, last), **stored, "runs": [_run(run) for run in runs]}


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        "number": run.number,
        "state": run.state,
        "stage": run.stage,
        "progress": run.progress,
        "metrics": run.metrics,
        "problems": run.problems,
        "returncode": run.returncode,
        **{
            name: None if (time := getattr(run, name)) is None else time.isoformat()
            for name in ("created", "started_at", "finished_at")
        },
    }


def _verdict(verdict: Verdict, status: int) -> HttpResponse:
    return _json(verdict.to_json(language()), status)


def _json(value: Any, status: int = 200) -> HttpResponse:
    """Spelled as the command line spells it."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return HttpResponse(text, status=status, content_type="application/json")


def _error(status: int, code: str, message: str, field: str = "") -> HttpResponse:
    """A refusal that is not about a request's content, in the shape of a finding."""
    problem = {"code": code, "field": field, "severity": "error", "message": message, "remedy": "", "parameters": {}}
    return _json({"fits": False, "problems": [problem]}, status)


@api.exception_handler(AuthenticationError)
def _unauthenticated(request: HttpRequest, error: AuthenticationError | type[AuthenticationError]) -> HttpResponse:
    return _error(401, "login.needed", _("Log in first."))


@api.exception_handler(ValidationError)
def _wrong_parameter(request: HttpRequest, error: ValidationError | type[ValidationError]) -> HttpResponse:
    return _error(422, "parameter.wrong", _("A parameter of the address cannot be read."))


@api.exception_handler(HttpError)
def _refused(request: HttpRequest, error: HttpError | type[HttpError]) -> HttpResponse:
    status = getattr(error, "status_code", 400)
    return _error(status, f"http.{status}", str(error))
