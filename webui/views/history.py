"""The team's jobs."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webui.history import JobFilter, attach_last_runs, jobs_of, page, without


@require_safe
@login_required
@never_cache
def job_list(request: HttpRequest) -> HttpResponse:
    """Newest first, by cursor (`?after=`)."""
    filters = JobFilter(request.GET, jobs_of(request.user), request.user)
    found = page(filters.qs, request.GET.get("after"))
    context = {
        "filters": filters,
        "filtered": any(request.GET.get(name) for name in filters.filters),
        "page": found,
        "next_query": without(request.GET, after=found.next_cursor) if found.next_cursor else "",
        "first_query": without(request.GET, "after") if request.GET.get("after") else None,
    }
    return render(request, "webui/job_list.html", context)


@require_safe
@login_required
@never_cache
def job_row(request: HttpRequest, job_id: int) -> HttpResponse:
    """One row of the list, for a page that has heard of a change."""
    found = list(jobs_of(request.user).filter(pk=job_id))
    if not found:
        raise Http404
    attach_last_runs(found)
    return render(request, "webui/job_row.html", {"job": found[0]})
