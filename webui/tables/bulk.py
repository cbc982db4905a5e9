"""One column of many rows set at once: all of them, or, if any row would be wrong, none."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.models.tables import Sourced
from webui.tables.cells import parse
from webui.tables.checking import columns, row_errors


class ColumnForm(forms.Form):
    """When it is valid, `rows` are those that it changes, changed but not saved."""

    column = forms.ChoiceField(label=gettext_lazy("column"))
    value = forms.CharField(
        label=gettext_lazy("new value"), required=False, help_text=gettext_lazy("Spelled as in an export.")
    )

    def __init__(self, table: Any, rows: list[Sourced], data: Any = None) -> None:
        super().__init__(data)
        self._fields = {name: field for name, field in columns(table).items() if name not in table.key}
        self.fields["column"].choices = [(name, name) for name in self._fields]  # type: ignore[attr-defined]
        self.rows = rows

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        name = cleaned.get("column")
        if name is None:
            return cleaned
        try:
            value = parse(self._fields[name], cleaned.get("value", ""))
        except ValueError as error:
            raise ValidationError({"value": str(error)}) from None
        wrong = []
        self.rows = [row for row in self.rows if getattr(row, name) != value]
        for row in self.rows:
            setattr(row, name, value)
            wrong += [f"{row}: {words}" for found in row_errors(row).values() for words in found]
        if wrong:
            raise ValidationError({"value": wrong})
        return cleaned


@admin.action(description=gettext_lazy("Change a column of the selected rows"), permissions=["change"])
def change_selected(model_admin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> TemplateResponse | None:
    rows = list(queryset)
    form = ColumnForm(model_admin.table, rows, request.POST if "apply" in request.POST else None)
    if form.is_bound and form.is_valid():
        _save(form)
        count = len(form.rows)
        changed = ngettext("%(count)d row was changed.", "%(count)d rows were changed.", count)
        messages.success(request, changed % {"count": count})
        return None
    context = {
        **model_admin.admin_site.each_context(request),
        "title": _("Change a column of the selected rows"),
        "opts": model_admin.opts,
        "form": form,
        "rows": rows,
        "checkbox": ACTION_CHECKBOX_NAME,
        "across": request.POST.get("select_across") == "1",
        "action": change_selected.__name__,
    }
    return TemplateResponse(request, "admin/change_selected.html", context)


def _save(form: ColumnForm) -> None:
    with transaction.atomic():
        for row in form.rows:
            row._change_reason = form.cleaned_data["column"]  # type: ignore[attr-defined]
            row.save_edited()
