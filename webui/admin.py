"""The back office: Django's own admin over the resource tables, the teams, and what happened.

The tables can be exported and imported (CSV, XLSX; the changes are shown before they are made), and
each row keeps its history, from which an older state can be brought back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from jobs.models import (
    AuditEvent,
    Dataset,
    DatasetVersion,
    DeviceLease,
    Inspection,
    Job,
    Membership,
    Node,
    Run,
    Team,
    Upload,
    Weights,
)
from jobs.table_values import TABLES, Table
from webui.tables import admin as tables

admin.site.site_header = _("Trainyard: administration")
admin.site.site_title = "Trainyard"
admin.site.index_title = _("Resource tables, teams and records")


tables.register(admin.site)


admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]
    """An account that the history of a table names is not deleted: the history would no longer say who it was."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, Any, list[Any]]:
        """Both ways to delete, of one account and of those selected, refuse while the last list is not empty."""
        found, counts, permissions, protected = super().get_deleted_objects(objs, request)
        words = _("“%(name)s” is named in the history of the resource tables. Deactivate the account instead.")
        named = {user for table in TABLES for user in _changed_by(table, objs)}
        refused = [words % {"name": user.get_username()} for user in objs if user.pk in named]
        return found, counts, permissions, [*protected, *refused]


def _changed_by(table: Table, users: Iterable[User]) -> Iterable[int]:
    """Keys of those users that the history of the table names."""
    entries = table.history._default_manager.filter(history_user__in=[user.pk for user in users])
    return entries.values_list("history_user", flat=True).distinct()


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


@admin.register(DatasetVersion)
class DatasetVersionAdmin(ReadOnlyAdmin):
    list_display = ("dataset", "number", "size", "files", "created")
    list_select_related = ("dataset",)


@admin.register(Inspection)
class InspectionAdmin(ReadOnlyAdmin):
    list_display = ("version", "state", "created", "finished_at")
    list_filter = ("state",)
    list_select_related = ("version__dataset",)


@admin.register(Upload)
class UploadAdmin(ReadOnlyAdmin):
    list_display = ("name", "team", "user", "size", "state", "touched")
    list_filter = ("state",)
    list_select_related = ("team", "user")


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ("time", "user", "action", "job")
    list_filter = ("action",)
    list_select_related = ("user", "job")
