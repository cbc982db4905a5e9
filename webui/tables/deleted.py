"""Rows of a table that a person has deleted: who, when, and back again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext as _

from jobs.seed import BY_US
from jobs.table_values import Table, key_of
from webui.tables.checking import key_of_row, present_rows, row_errors

PAGE_SIZE = 100


def deleted(table: Table) -> Iterator[Any]:
    """The last state of each row that is gone, as its history has it; the newest deletion first."""
    seen = {*present_rows(table)}
    gone = table.history._default_manager.filter(history_type="-").exclude(history_change_reason=BY_US)
    for record in gone.select_related("history_user").order_by("-history_date", "-history_id"):
        key = key_of(vars(record), table.key)
        if key not in seen:
            seen.add(key)
            yield record


class DeletedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    table: Table

    def get_urls(self) -> Any:
        view = self.admin_site.admin_view(self.deleted_view)
        return [path("deleted/", view, name=f"jobs_{self.table.slug}_deleted"), *super().get_urls()]

    def deleted_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            return self._bring_back(request)
        page = Paginator(list(deleted(self.table)), PAGE_SIZE).get_page(request.GET.get("p"))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Deleted rows"),
            "opts": self.opts,
            "page": page,
            "may_add": self.has_add_permission(request),
        }
        return TemplateResponse(request, "admin/deleted_rows.html", context)

    def _bring_back(self, request: HttpRequest) -> HttpResponse:
        """As it was when it was deleted: a loaded row is again one that loading keeps up to date."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        number = request.POST.get("record", "")
        record: Any = get_object_or_404(self.table.history, pk=number if number.isdecimal() else None, history_type="-")
        row = record.instance
        wrong = row_errors(row)
        if key_of_row(row, self.table) in present_rows(self.table):
            messages.error(request, _("There is a row “%(row)s” already.") % {"row": row})
        elif wrong:
            for words in (words for found in wrong.values() for words in found):
                messages.error(request, f"{row}: {words}")
        else:
            if self.table.model._default_manager.filter(pk=row.pk).exists():
                row.pk = None
            row._change_reason = "brought back"
            row.save(force_insert=True)
            self.log_addition(request, row, [{"added": {}}])
            messages.success(request, _("“%(row)s” is back.") % {"row": row})
        return HttpResponseRedirect(reverse(f"admin:jobs_{self.table.slug}_deleted"))
