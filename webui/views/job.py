"""The page of one job, and what can be done to it."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from jobs.again import StillRunning, run_again
from jobs.models import Job, Run
from jobs.stop import NotRecorded, request_stop
from jobs.submit import Refused
from webui.job_page import live_context, page_context
from webui.verdict import findings


@require_safe
@login_required
@never_cache
def job_detail(request: HttpRequest, job_id: int) -> HttpResponse:
    """The last attempt, or the one that `?attempt=` names."""
    return render(request, "webui/job_detail.html", page_context(_run(request, job_id)))


@require_safe
@never_cache
def job_header(request: HttpRequest, job_id: int) -> HttpResponse:
    """The changing parts of the page, each marked with `data-part`; the page replaces those that differ."""
    return render(request, "webui/job_live.html", live_context(_run(request, job_id)))


@require_POST
@login_required
def job_stop(request: HttpRequest, job_id: int) -> HttpResponse:
    run = _run(request, job_id)
    try:
        if not request_stop(run, _person(request)):
            messages.info(request, _("The run had already ended."))
    except NotRecorded:
        messages.warning(
            request,
            _("The training has been asked to stop, but the database cannot be written now: this page shows it later."),
        )
    return redirect("job-detail", job_id)


@require_POST
@login_required
def job_again(request: HttpRequest, job_id: int) -> HttpResponse:
    """Queue another attempt with the same settings."""
    try:
        run_again(_run(request, job_id).job, _person(request))
    except StillRunning:
        messages.info(request, _("The last attempt has not ended yet."))
    except Refused as refused:
        for finding in findings(refused.verdict.problems):
            if finding.severity == "error":
                messages.error(request, finding.words)
    return redirect("job-detail", job_id)


def _person(request: HttpRequest) -> User:
    """Who is logged in; for views that want a login."""
    return cast(User, request.user)


def _run(request: HttpRequest, job_id: int) -> Run:
    """The attempt that a request is about; 404 when the person may not see the job."""
    if not request.user.is_authenticated:
        raise Http404
    job = get_object_or_404(Job.objects.visible_to(request.user).select_related("team", "owner"), pk=job_id)
    attempt = request.GET.get("attempt", "")
    run = job.runs.filter(number=attempt).first() if attempt.isdecimal() else job.last_run
    if run is None:
        raise Http404
    run.job = job
    return run
