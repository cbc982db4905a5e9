"""The JSON API under /api/: the same journey as the form and the command line, with the same answers.

A session logs in, and CSRF is checked, as for the pages. `plan` answers byte for byte what
`python -m engine plan --json` prints (but for the time, where the team's own finished runs are known). Refusals are
findings in the shape of `check`, with status 422.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.security import django_auth

from engine.plan import DeviceNeed, Plan
from engine.planner import Verdict
from engine.problems import Problem
from engine.spec import JobSpec, canonical_json
from jobs.models import Job, Run, Team
from jobs.submit import Refused, preview, submit
from webui.api_errors import NoTeam, handle, json_response, refusal
from webui.history import JobFilter, jobs_of, page
from webui.reader import language

SPEC_BODY = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": JobSpec.model_json_schema()}}}
}
api = NinjaAPI(title="Trainyard", version="1", auth=django_auth, docs_url=None, openapi_url="/openapi.json")
"""No page of documentation: ninja's loads its scripts from elsewhere. The description is at /api/openapi.json."""
handle(api)


@api.post("/check", openapi_extra=SPEC_BODY, summary="Everything that is wrong with a request, and what would fit")
def check(request: HttpRequest, team: str = "") -> HttpResponse:
    return _verdict(_judged(request, team)[0], 200)


@api.post("/plan", openapi_extra=SPEC_BODY, summary="Every decision about a request, with reasons and commands")
def plan(request: HttpRequest, team: str = "") -> HttpResponse:
    verdict, decided = _judged(request, team)
    if decided is None:
        return _verdict(verdict, 422)
    return HttpResponse(canonical_json(decided), content_type="application/json")


@api.post("/jobs", openapi_extra=SPEC_BODY, summary="Queue a job; `team` is a name, by default the first of yours")
def create_job(request: HttpRequest, team: str = "") -> HttpResponse:
    chosen, body = _team(request, team), _body(request)
    if isinstance(body, Verdict):
        return _verdict(body, 422)
    try:
        job = submit(body, team=chosen, user=cast(User, request.user))
    except Refused as refused:
        return _verdict(refused.verdict, 422)
    return json_response(_details(job), 201)


@api.get("/jobs", summary="Jobs of your teams, newest first; `after` is the `next` of the page before")
def list_jobs(request: HttpRequest, after: str = "") -> HttpResponse:
    filters = JobFilter(request.GET, jobs_of(request.user), request.user)
    found = page(filters.qs, after)
    jobs = [_summary(job, job.last) for job in found.jobs]  # type: ignore[attr-defined]
    return json_response({"jobs": jobs, "next": found.next_cursor})


@api.get("/jobs/{int:job_id}", summary="One job, with its spec, its plan and its runs")
def get_job(request: HttpRequest, job_id: int) -> HttpResponse:
    job = Job.objects.visible_to(request.user).select_related("team", "owner").filter(pk=job_id).first()
    if job is None:
        return refusal(404, "job.unknown", _("There is no such job, or it belongs to another team."))
    return json_response(_details(job))


def _judged(request: HttpRequest, team: str) -> tuple[Verdict, Plan | None]:
    """Only for somebody who works in a team: the check looks at files."""
    chosen, body = _team(request, team), _body(request)
    return (body, None) if isinstance(body, Verdict) else preview(body, team=chosen)


def _team(request: HttpRequest, name: str) -> Team:
    """The team of this name, else the person's first. Raises NoTeam when they work in none such."""
    teams = Team.objects.of(cast(User, request.user))
    team = teams.filter(name=name).first() if name else teams.first()
    if team is None:
        raise NoTeam
    return team


def _body(request: HttpRequest) -> Mapping[str, Any] | Verdict:
    """The request as it was sent, however wrong; a verdict where there is none to look at."""
    try:
        data = json.loads(request.body.decode("utf-8-sig"))
        json.dumps(data, ensure_ascii=False).encode()  # a lone surrogate is no text, however it is spelled
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
    return json_response(verdict.to_json(language()), status)
