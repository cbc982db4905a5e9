"""The resource tables in the back office: edited in lists, imported and exported, with a history and a way back."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, ValidationError
from django.db.models import JSONField, Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from simple_history.admin import SimpleHistoryAdmin

from engine.frameworks import FOLDERS
from jobs.models import Hardware, MinDevices, TrainableModel
from jobs.models.tables import Sourced
from jobs.models.trainable import DIMENSIONS, EXPERTS, LATENT, VISION
from jobs.seed import refresh_estimates
from jobs.table_values import TABLES
from webui.tables.bulk import change_selected
from webui.tables.deleted import DeletedAdmin
from webui.tables.files import resource_of
from webui.tables.importing import ImportedAdmin
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


class ListedRowForm(RowForm):
    """A row in a list: its cells are named after column and row, for those who do not see both."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["aria-label"] = f"{field.label}, {self.instance}"


class FrameworksField(forms.MultipleChoiceField):
    """A list of names, as boxes to tick."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, **kwargs: Any) -> None:
        named: dict[str, Any] = {name: kwargs.get(name) for name in ("label", "help_text", "initial")}
        super().__init__(choices=[(name, name) for name in FOLDERS], required=False, **named)


class TableAdmin(ImportedAdmin, DeletedAdmin, SimpleHistoryAdmin):  # type: ignore[misc]
    """A resource table. Another key is another row: it is given when a row is added, and cannot be changed."""

    import_export_change_list_template = "admin/table_rows.html"
    change_form_template = "admin/table_row.html"
    list_per_page = 100
    readonly_fields = ("edited",)
    actions = (change_selected,)
    form = RowForm
    formfield_overrides = {JSONField: {"form_class": FrameworksField}}

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        return self.readonly_fields if obj is None else (*self.readonly_fields, *self.table.key)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """`?like=` a row: its values, save for where they come from, which is the new row's own."""
        like = self.get_object(request, request.GET.get("like", ""))
        if like is None or not admin.ModelAdmin.has_view_permission(self, request, like):
            return super().get_changeform_initial_data(request)
        own = {"id", "estimate", "suspect", *LAST}
        return {field.name: getattr(like, field.name) for field in self.opts.fields if field.name not in own}

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        """What a row is first, where it comes from last."""
        names = [name for name in super().get_fields(request, obj) if name not in LAST]
        return [*names, *LAST]

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> type[forms.ModelForm[Any]]:
        made: type[forms.ModelForm[Any]] = super().get_changelist_form(request, **{"form": ListedRowForm, **kwargs})
        return made

    def save_model(self, request: HttpRequest, obj: Sourced, form: Any, change: bool) -> None:
        """A form in which nothing was changed makes no row one that a person has edited."""
        reverted = _is_of_history(request)
        if change and not reverted and not form.changed_data:
            return
        names = ", ".join(form.changed_data)
        obj._change_reason = (f"revert {names}".strip() if reverted else names)[:100]  # type: ignore[attr-defined]
        obj.save_edited()
        for words in obj.doubts().values():
            messages.warning(request, words)

    def history_form_view(
        self, request: HttpRequest, object_id: str, version_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """simple-history hides the button from who may only look, and would take the form from them all the same."""
        if request.method == "POST":
            if not admin.ModelAdmin.has_change_permission(self, request):
                raise PermissionDenied
            row = self.get_object(request, object_id)
            if row is None and not self.has_add_permission(request):
                raise PermissionDenied
            if self._is_taken(object_id, version_id):
                messages.error(
                    request, _("There is another row of the same %(key)s.") % {"key": ", ".join(self.table.key)}
                )
                return HttpResponseRedirect(request.path)
        parent: Any = super()
        answer: HttpResponse = parent.history_form_view(request, object_id, version_id, extra_context)
        return answer

    def _is_taken(self, object_id: str, version_id: str) -> bool:
        """Has another row the key of this version?"""
        record: Any = get_object_or_404(self.table.history, history_id=version_id, id=object_id)
        key = {name: getattr(record, name) for name in self.table.key}
        return self.table.model._default_manager.filter(**key).exclude(pk=record.id).exists()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """One by one, so that each is in the history."""
        for row in queryset:
            row.delete()


def _is_of_history(request: HttpRequest) -> bool:
    """Does it bring back a state of the history?"""
    match = request.resolver_match
    return match is not None and (match.url_name or "").endswith("_simple_history")


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

    def deleted_view(self, request: HttpRequest) -> HttpResponse:
        return self._then_estimate(request, "deleted_view")

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
