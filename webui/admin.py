"""The back office: Django's own admin over the resource tables, the teams, and what happened.

The tables can be exported and imported (CSV, XLSX; the changes are shown before they are made), and
each row keeps its history, from which an older state can be brought back.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from import_export import resources
from import_export.admin import ImportExportModelAdmin
from import_export.formats.base_formats import CSV, XLSX
from import_export.forms import ExportForm
from simple_history.admin import SimpleHistoryAdmin

from jobs.models import (
    AuditEvent,
    Dataset,
    DeviceLease,
    Hardware,
    Job,
    Membership,
    MinDevices,
    Node,
    Run,
    Team,
    TrainableModel,
    Weights,
)
from jobs.models.tables import Sourced
from jobs.seed import KEYS

admin.site.site_header = _("Trainyard: administration")
admin.site.site_title = "Trainyard"
admin.site.index_title = _("Resource tables, teams and records")


class TableResource(resources.ModelResource):
    """Imports and exports a resource table. An import is checked like a form and marks what it changes."""

    def before_save_instance(self, instance: Sourced, row: Any, **kwargs: Any) -> None:
        instance.edited = True


def _resource(table: type[Sourced]) -> type[TableResource]:
    made: type[TableResource] = resources.modelresource_factory(
        table,
        resource_class=TableResource,
        meta_options={
            "exclude": ("id", "edited"),
            "import_id_fields": KEYS[table],  # type: ignore[index]
            "clean_model_instances": True,
            "skip_unchanged": True,
            "report_skipped": False,
            "use_transactions": True,
        },
    )
    return made


class TableAdmin(ImportExportModelAdmin, SimpleHistoryAdmin):  # type: ignore[misc]
    """A resource table."""

    formats = (CSV, XLSX)
    # The other form of import-export has script in its attributes, which the site's policy forbids.
    export_form_class = ExportForm  # type: ignore[assignment]
    list_per_page = 100
    readonly_fields = ("edited",)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        """What a row is first, where it comes from last."""
        names = list(super().get_fields(request, obj))
        last = [name for name in ("source", "note", "edited") if name in names]
        return [name for name in names if name not in last] + last

    def save_model(self, request: HttpRequest, obj: Sourced, form: Any, change: bool) -> None:
        obj._change_reason = ", ".join(form.changed_data)  # type: ignore[attr-defined]
        obj.save_edited()


@admin.register(Hardware)
class HardwareAdmin(TableAdmin):
    resource_classes = [_resource(Hardware)]
    list_display = (
        "name",
        "cards_per_node",
        "dies_per_card",
        "devices_per_node",
        "device_step",
        "memory_gib",
        "edited",
    )
    search_fields = ("name",)


@admin.register(TrainableModel)
class TrainableModelAdmin(TableAdmin):
    resource_classes = [_resource(TrainableModel)]
    list_display = ("name", "family", "params", "max_position_embeddings", "status", "edited")
    list_filter = ("family", "multimodal", "edited")
    search_fields = ("name", "family", "hf_repo_id")


@admin.register(MinDevices)
class MinDevicesAdmin(TableAdmin):
    resource_classes = [_resource(MinDevices)]
    list_display = ("model", "strategy", "seq_length", "framework", "hardware", "devices", "doubted", "edited")
    list_filter = ("strategy", "seq_length", "framework", "hardware", "edited")
    search_fields = ("model",)

    @admin.display(description=_("doubted"), boolean=True)
    def doubted(self, row: MinDevices) -> bool:
        return bool(row.suspect)


class MembershipInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Membership
    extra = 1


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name",)
    search_fields = ("name",)
    inlines = [MembershipInline]


@admin.register(Dataset, Weights)
class AssetAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "team", "path", "created")
    list_filter = ("team",)
    search_fields = ("name", "path")
    readonly_fields = ("created_by",)


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """What the software writes is only looked at here."""

    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Node)
class NodeAdmin(ReadOnlyAdmin):
    list_display = ("name", "hardware", "devices", "last_seen")


@admin.register(DeviceLease)
class DeviceLeaseAdmin(ReadOnlyAdmin):
    list_display = ("node", "device", "run", "since")
    list_select_related = ("node", "run__job")


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ("name", "model", "team", "owner", "created")
    list_filter = ("team", "model")
    list_select_related = ("team", "owner")
    search_fields = ("name",)


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ("id", "job", "number", "state", "node", "created")
    list_filter = ("state",)
    list_select_related = ("job", "node")


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ("time", "user", "action", "job")
    list_filter = ("action",)
    list_select_related = ("user", "job")
