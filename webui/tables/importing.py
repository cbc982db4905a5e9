"""An import in the back office: a preview with remarks, and a confirmation that does what the preview has shown."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from import_export.admin import ImportExportModelAdmin
from import_export.forms import ExportForm

from jobs.table_values import Table
from webui.tables.files import FORMATS, TableConfirmForm, TableImportForm
from webui.tables.reading import Unreadable
from webui.tables.waiting import WaitingFile


class ImportedAdmin(ImportExportModelAdmin):
    """A table that comes in and goes out as a file."""

    table: Table
    formats = FORMATS
    to_encoding = "utf-8-sig"  # type: ignore[assignment]  # without the mark a Chinese Excel takes the file for GBK
    import_form_class = TableImportForm
    confirm_form_class = TableConfirmForm
    import_template_name = "admin/table_import.html"
    tmp_storage_class = WaitingFile  # type: ignore[assignment]
    # The other form of import-export has script in its attributes, which the site's policy forbids.
    export_form_class = ExportForm  # type: ignore[assignment]

    def has_import_permission(self, request: HttpRequest) -> bool:
        """An import may add and change rows."""
        return self.has_add_permission(request) and admin.ModelAdmin.has_change_permission(self, request)

    def has_export_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_view_permission(self, request)

    def create_import_form(self, request: HttpRequest) -> Any:
        """Only who may delete rows can import a whole table."""
        form = super().create_import_form(request)  # type: ignore[no-untyped-call]
        if not self.has_delete_permission(request):
            del form.fields["whole"]
        return form

    def import_action(self, request: HttpRequest, **kwargs: Any) -> Any:
        answer: Any = super().import_action(request, **kwargs)  # type: ignore[no-untyped-call]
        answer.context_data["remarks"] = answer.context_data["form"].remarks
        return answer

    def get_confirm_form_initial(self, request: HttpRequest, import_form: Any) -> dict[str, Any]:
        initial: dict[str, Any] = super().get_confirm_form_initial(request, import_form)  # type: ignore[no-untyped-call]
        if import_form is not None:
            initial |= {"whole": import_form.cleaned_data.get("whole", False), "seen": self._state()}
        return initial

    def _state(self) -> str:
        """Other after every change of the table."""
        newest = self.table.history._default_manager.aggregate(last=Max("history_id"), count=Count("pk"))
        return f"{newest['last']}.{newest['count']}"

    def get_import_data_kwargs(self, **kwargs: Any) -> dict[str, Any]:
        """All or nothing, also when other tables have changed between preview and confirmation."""
        whole = bool(kwargs["form"].cleaned_data.get("whole"))
        parent: Any = super()
        return {**parent.get_import_data_kwargs(**kwargs), "rollback_on_validation_errors": True, "whole": whole}

    @method_decorator(require_POST)
    def process_import(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """What the form hands in is not trusted: the file is read anew, by those who may."""
        if not self.has_import_permission(request):
            raise PermissionDenied
        form: Any = self.create_confirm_form(request)  # type: ignore[no-untyped-call]
        if not form.is_valid():
            return self._refused(request, _("Nothing was imported: the confirmation is not complete."))
        if form.cleaned_data["whole"] and not self.has_delete_permission(request):
            raise PermissionDenied
        try:
            data = WaitingFile(name=form.cleaned_data["import_file_name"]).take()
            dataset = FORMATS[int(form.cleaned_data["format"])]().create_dataset(data)
        except FileNotFoundError:
            words = _("The uploaded file is no longer there: it has been imported already, or it has waited too long.")
            return self._refused(request, words)
        except Unreadable as error:
            return self._refused(request, str(error))
        if form.cleaned_data["seen"] != self._state():
            return self._refused(
                request, _("Nothing was imported: the tables have changed meanwhile. Import it again.")
            )
        result: Any = self.process_dataset(dataset, form, request, **kwargs)  # type: ignore[no-untyped-call]
        if result.has_errors() or result.has_validation_errors():
            return self._refused(
                request, _("Nothing was imported: the tables have changed meanwhile. Import it again.")
            )
        answer: HttpResponse = self.process_result(result, request)  # type: ignore[no-untyped-call]
        return answer

    def _refused(self, request: HttpRequest, words: str) -> HttpResponseRedirect:
        messages.error(request, words)
        return HttpResponseRedirect(reverse(f"admin:jobs_{self.table.slug}_changelist"))
