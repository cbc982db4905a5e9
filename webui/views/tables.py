"""The resource tables for everybody: to read and to search; they are changed in the back office alone."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs.table_values import TABLES
from webui.history import without
from webui.tables.listing import choices, label, lines, matching
from webui.tables.shown import SHOWN

PAGE_SIZE = 100


@require_safe
@login_required
@never_cache
def table_list(request: HttpRequest, slug: str = "mindevices") -> HttpResponse:
    """One table: `?q=` searches names, a column's name narrows it to a value, `?page=` turns pages."""
    table = next((table for table in TABLES if table.slug == slug), None)
    if table is None:
        raise Http404
    shown = SHOWN[table.model]
    rows = Paginator(matching(table, shown, request.GET), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "tables": [(one.slug, one.model._meta.verbose_name_plural) for one in TABLES],
        "slug": slug,
        "title": table.model._meta.verbose_name_plural,
        "labels": [label(table, name) for name in shown.columns],
        "lines": lines(rows.object_list, shown),
        "filters": choices(table, shown, request.GET),
        "q": request.GET.get("q", ""),
        "page": rows,
        "previous_query": without(request.GET, page=rows.previous_page_number()) if rows.has_previous() else "",
        "next_query": without(request.GET, page=rows.next_page_number()) if rows.has_next() else "",
        "admin_url": _admin_url(request, slug),
    }
    return render(request, "webui/table_list.html", context)


def _admin_url(request: HttpRequest, slug: str) -> str:
    """Where who may change the table does so; empty for all others."""
    may = request.user.is_staff and request.user.has_perm(f"jobs.change_{slug}")
    return reverse(f"admin:jobs_{slug}_changelist") if may else ""
