"""The new-job page: the form, the check while one types, and the submission."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from jobs.catalog import current
from jobs.models import Job, Team
from jobs.outlook import Outlook, outlook
from jobs.submit import Refused, submit
from webui.datasets.line import data_line
from webui.fields import FIELDS
from webui.forms import JobForm, input_id, to_data, to_inputs
from webui.offers import asked_inputs, copy_name, first_inputs, offers
from webui.verdict import Answer, answer

REFUSED_STATUS = 422


@require_POST
@login_required
@never_cache
def job_check(request: HttpRequest) -> HttpResponse:
    """What the engine says of the form as it stands; the panel beside it."""
    context = {"answer": answer(_judged(request, request.POST)), "data": data_line(request.POST, _chosen_team(request))}
    return render(request, "webui/job_verdict.html", context)


@method_decorator([login_required, never_cache], name="dispatch")
class JobNew(View):
    """GET fills in the form: from an old job with `?from=<id>`, or with values by spec path, such as
    `?model=llama3.1-8b&train.seq_length=4096`, which are checked like everything that is entered.
    POST submits it, or applies a proposed change.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        user = cast(User, request.user)
        source = request.GET.get("from")
        if source is None:
            catalog = current()
            offered = offers(user, catalog)
            return _page(request, asked_inputs(first_inputs(offered, catalog), request.GET, offered))
        job = Job.objects.visible_to(user).filter(pk=source).first() if source.isdecimal() else None
        if job is None:
            raise Http404
        return _page(request, to_inputs({**job.spec, "name": copy_name(job.name)}), team=job.team_id)

    def post(self, request: HttpRequest) -> HttpResponse:
        if "apply" in request.POST:
            return _page(request, _applied(request.POST), check=True)
        try:
            job = submit(to_data(request.POST), team=_team(request), user=cast(User, request.user))
        except Refused as refusal:
            return _page(
                request, request.POST, answered=answer(Outlook(refusal.verdict, None, None)), status=REFUSED_STATUS
            )
        return redirect("job-detail", job.pk)


def _team(request: HttpRequest) -> Team:
    """The chosen team, else the person's first. Raises PermissionDenied when they work in none such."""
    team = _chosen_team(request)
    if team is None:
        raise PermissionDenied("no such team")
    return team


def _chosen_team(request: HttpRequest) -> Team | None:
    teams = Team.objects.of(cast(User, request.user))
    chosen = request.POST.get("team")
    if chosen:
        teams = teams.filter(pk=chosen) if chosen.isdecimal() else teams.none()
    return teams.first()


def _judged(request: HttpRequest, inputs: Mapping[str, Any]) -> Outlook:
    """Who works in no team is told nothing about files."""
    team = _chosen_team(request)
    return outlook(to_data(inputs), files=team is not None, team=team)


def _applied(post: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with a proposed change filled in; an unreadable proposal changes nothing."""
    inputs = {path: post.get(path, "") for path in FIELDS if path in post}
    try:
        change = json.loads(post["apply"])
        json.dumps(change, ensure_ascii=False).encode()  # a lone surrogate is no text
    except (ValueError, RecursionError):
        change = {}
    for path, value in change.items() if isinstance(change, dict) else ():
        if path in FIELDS and not isinstance(value, (dict, list)):
            inputs[path] = "" if value is None else str(value)
    return inputs


def _page(
    request: HttpRequest,
    inputs: Mapping[str, Any],
    *,
    team: int | None = None,
    answered: Answer | None = None,
    check: bool = False,
    status: int = 200,
) -> HttpResponse:
    user = cast(User, request.user)
    offered = offers(user, current())
    form = JobForm(inputs, offered)
    if check:
        answered = answer(_judged(request, inputs))
    problems = _by_field(answered)
    context = {
        "sections": _sections(form, problems),
        "suggestions": offered.suggestions.items(),
        "answer": answered,
        "data": data_line(inputs, _chosen_team(request)) if answered else None,
        "first_problem": next((input_id(path) for path in FIELDS if path in problems), ""),
        "teams": Team.objects.of(user),
        "team": team or request.POST.get("team"),
    }
    return render(request, "webui/job_new.html", context, status=status)


def _by_field(answered: Answer | None) -> dict[str, list[Any]]:
    """What stands under each field; notes are in the panel only."""
    by_field: dict[str, list[Any]] = {}
    for finding in answered.findings if answered else ():
        if finding.field and finding.severity != "note":
            by_field.setdefault(finding.field, []).append(finding)
    return by_field


def _sections(form: JobForm, problems: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    sections = []
    for section, pairs in form.sections():
        rows = [
            {"field": one, "input": _marked(bound, problems.get(one.path, [])), "problems": problems.get(one.path, [])}
            for one, bound in pairs
        ]
        is_open = not section.folded or any(row["problems"] for row in rows)
        sections.append({"section": section, "rows": rows, "open": is_open})
    return sections


def _marked(bound: Any, problems: list[Any]) -> Any:
    """The input, told about its problems."""
    attrs = bound.field.widget.attrs
    if problems:
        attrs["aria-describedby"] = f"{attrs.get('aria-describedby', '')} problem_{bound.name}".strip()
    if any(problem.severity == "error" for problem in problems):
        attrs["aria-invalid"] = "true"
    return bound
