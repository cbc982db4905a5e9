"""The resource tables in the back office: edited in lists, imported and exported, with a history and a way back."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, ValidationError
from django.db.models import JSONField, Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from import_export.admin import ImportExportModelAdmin
from import_export.forms import ExportForm
from simple_history.admin import SimpleHistoryAdmin

from engine.frameworks import FOLDERS
from jobs.models import Hardware, MinDevices, TrainableModel
from jobs.models.tables import Sourced
from jobs.models.trainable import DIMENSIONS, EXPERTS, LATENT, VISION
from jobs.seed import refresh_estimates
from jobs.table_values import TABLES, Table
from webui.tables.bulk import change_selected
from webui.tables.files import FORMATS, TableImportForm, resource_of
from webui.tables.shown import SHOWN

LAST = ("source", "note", "edited")


class RowForm(forms.ModelForm):  # type: ignore[type-arg]
    """In a list only some columns are there; what is wrong with another one is said of the row."""

    def add_error(self, field: str | None, error: Any) -> None:
        if field is None and isinstance(error, ValidationError) and hasattr(error, "error_dict"):
            here: dict[str, list[Any]] = {}
            for name, words in error.error_dict.items():
                here.setdefault(name if name in self.fields else NON_FIELD_ERRORS, []).extend(words)
            error = ValidationError(here)
        super().add_error(field, error)


class FrameworksField(forms.MultipleChoiceField):
    """A list of names, as boxes to tick."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, **kwargs: Any) -> None:
        named: dict[str, Any] = {name: kwargs.get(name) for name in ("label", "help_text", "initial")}
        super().__init__(choices=[(name, name) for name in FOLDERS], required=False, **named)


class TableAdmin(ImportExportModelAdmin, SimpleHistoryAdmin):  # type: ignore[misc]
    """A resource table."""

    table: Table
    formats = FORMATS
    to_encoding = "utf-8-sig"  # type: ignore[assignment]  # without the mark a Chinese Excel takes the file for GBK
    import_form_class = TableImportForm
    # The other form of import-export has script in its attributes, which the site's policy forbids.
    export_form_class = ExportForm  # type: ignore[assignment]
    list_per_page = 100
    readonly_fields = ("edited",)
    actions = (change_selected,)
    form = RowForm
    formfield_overrides = {JSONField: {"form_class": FrameworksField}}

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        """What a row is first, where it comes from last."""
        names = [name for name in super().get_fields(request, obj) if name not in LAST]
        return [*names, *LAST]

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> type[forms.ModelForm[Any]]:
        made: type[forms.ModelForm[Any]] = super().get_changelist_form(request, **{"form": RowForm, **kwargs})
        return made

    def save_model(self, request: HttpRequest, obj: Sourced, form: Any, change: bool) -> None:
        obj._change_reason = ", ".join(form.changed_data)[:100]  # type: ignore[attr-defined]
        obj.save_edited()

    def has_import_permission(self, request: HttpRequest) -> bool:
        """An import may add and change rows."""
        return self.has_add_permission(request) and admin.ModelAdmin.has_change_permission(self, request)

    def has_export_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_view_permission(self, request)

    def get_import_data_kwargs(self, **kwargs: Any) -> dict[str, Any]:
        """All or nothing, also when the tables have changed between preview and confirmation."""
        parent: Any = super()
        return {**parent.get_import_data_kwargs(**kwargs), "rollback_on_validation_errors": True}

    def history_form_view(
        self, request: HttpRequest, object_id: str, version_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """simple-history hides the button from who may only look, and would take the form from them all the same."""
        if request.method == "POST" and not admin.ModelAdmin.has_change_permission(self, request):
            raise PermissionDenied
        parent: Any = super()
        answer: HttpResponse = parent.history_form_view(request, object_id, version_id, extra_context)
        return answer

    def process_import(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        parent: Any = super()
        try:
            answer: HttpResponse = parent.process_import(request, **kwargs)
        except FileNotFoundError:  # the server has restarted, or the button was pressed twice
            messages.error(request, _("The uploaded file is no longer there. Import it again."))
            return self._back_to_list()
        return answer

    def process_result(self, result: Any, request: HttpRequest) -> HttpResponse:
        if result.has_errors() or result.has_validation_errors():
            messages.error(request, _("Nothing was imported: the tables have changed meanwhile. Import it again."))
            return self._back_to_list()
        parent: Any = super()
        answer: HttpResponse = parent.process_result(result, request)
        return answer

    def _back_to_list(self) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse(f"admin:jobs_{self.table.slug}_changelist"))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """One by one, so that each is in the history."""
        for row in queryset:
            row.delete()


class MinDevicesAdmin(TableAdmin):
    @admin.display(description=gettext_lazy("doubted"), boolean=True)
    def doubted(self, row: MinDevices) -> bool:
        return bool(row.suspect)


class EstimatedFromAdmin(TableAdmin):
    """A table from which our own engine's cells are estimated: a change brings them up to date."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return self._then_estimate(request, "changelist_view", extra_context)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._then_estimate(request, "changeform_view", *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._then_estimate(request, "delete_view", *args, **kwargs)

    def history_form_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self._then_estimate(request, "history_form_view", *args, **kwargs)

    def process_import(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        return self._then_estimate(request, "process_import", **kwargs)

    def _then_estimate(self, request: HttpRequest, view: str, *args: Any, **kwargs: Any) -> HttpResponse:
        answer: HttpResponse = getattr(super(), view)(request, *args, **kwargs)
        if request.method == "POST" and answer.status_code == HTTPStatus.FOUND:
            refresh_estimates()
        return answer


class ModelAdmin(EstimatedFromAdmin):
    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """What it is, its dimensions, and the rarer parts folded away."""
        names = self.get_fields(request, obj)
        parts = {
            gettext_lazy("Dimensions"): [*DIMENSIONS, "total_params", "model_type", "rope_theta", "rope_scaling",
                                         "tie_word_embeddings", "qkv_bias", "remote_code", "shape_source",
                                         "shape_note"],
            gettext_lazy("Mixture of experts"): [*EXPERTS, "experts_correction_bias"],
            gettext_lazy("Latent attention"): list(LATENT),
            gettext_lazy("Vision tower"): [*VISION, "vision_gated", "vision_rms_norm"],
        }  # fmt: skip
        placed = {name for part in parts.values() for name in part}
        first = (None, {"fields": [name for name in names if name not in placed]})
        return [first, *((title, {"fields": part}) for title, part in parts.items())]


SPECIAL: dict[type[Sourced], type[TableAdmin]] = {
    Hardware: EstimatedFromAdmin,
    MinDevices: MinDevicesAdmin,
    TrainableModel: ModelAdmin,
}


def register(site: admin.AdminSite) -> None:
    for table in TABLES:
        shown = SHOWN[table.model]
        base = SPECIAL.get(table.model, TableAdmin)
        columns = tuple("doubted" if name == "suspect" else name for name in shown.columns)
        options = {
            "table": table,
            "resource_classes": [resource_of(table)],
            "list_display": (*columns, "edited"),
            "list_editable": shown.editable,
            "list_filter": (*shown.filters, "edited"),
            "search_fields": shown.search,
        }
        site.register(table.model, type(f"{table.model.__name__}TableAdmin", (base,), options))
