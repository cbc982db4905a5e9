"""The formats and the form of an import: read and judged by us, shown and carried out by import-export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy
from import_export.formats.base_formats import CSV, XLSX
from import_export.forms import ConfirmImportForm, ImportForm
from import_export.resources import Diff, ModelResource, modelresource_factory
from import_export.widgets import Widget
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from tablib.core import Dataset

from jobs.models.table_rules import looking_up_once
from jobs.models.tables import Sourced
from jobs.table_values import Table
from webui.tables.cells import neutral, parse, spell
from webui.tables.checking import NOT_IN_FILES, Judgement, columns, judge, present_rows, row_errors
from webui.tables.reading import Sheet, Unreadable, read_csv, values
from webui.tables.workbook import read_xlsx


def _dataset(sheet: Sheet) -> Dataset:
    """Raises Unreadable."""
    if sheet.faults:
        raise Unreadable(*sheet.faults)
    return Dataset(*(values(row) for row in sheet.rows), headers=list(sheet.header))


def _neutral(dataset: Dataset) -> Dataset:
    rows = (tuple(_safe(cell) if isinstance(cell, str) else cell for cell in row) for row in dataset[:])
    return Dataset(*rows, headers=dataset.headers, title=dataset.title)


def _safe(cell: str) -> str:
    """Control characters cannot be in a workbook at all."""
    return neutral(ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", cell))


class TableCSV(CSV):
    def create_dataset(self, in_stream: bytes | str, **kwargs: Any) -> Dataset:
        return _dataset(read_csv(in_stream))

    def export_data(self, dataset: Dataset, **kwargs: Any) -> Any:
        parent: Any = super()
        return parent.export_data(_neutral(dataset), **kwargs)


class TableXLSX(XLSX):
    def create_dataset(self, in_stream: bytes, **kwargs: Any) -> Dataset:
        return _dataset(read_xlsx(in_stream))

    def export_data(self, dataset: Dataset, **kwargs: Any) -> Any:
        parent: Any = super()
        return parent.export_data(_neutral(dataset), **kwargs)


SHOWN_LETTERS = 300
"""Of a cell in a preview."""
FORMATS = (TableCSV, TableXLSX)


class TableImportForm(ImportForm):
    """Refuses a file with every fault that is in it; `remarks` are what to know of one that is taken."""

    whole = forms.BooleanField(
        label=gettext_lazy("The file is the whole table: remove the rows that it lacks"), required=False
    )

    def __init__(self, formats: list[Any], resources: list[Any], **kwargs: Any) -> None:
        parent: Any = super()
        parent.__init__(formats, resources, **kwargs)
        self._formats, self._table = formats, resources[0].table
        self.remarks: list[str] = []

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        file, chosen = cleaned.get("import_file"), cleaned.get("format")
        if file is None or not chosen:
            return cleaned
        data = b"".join(file.chunks())
        read = read_xlsx if issubclass(self._formats[int(chosen)], TableXLSX) else read_csv
        try:
            found = judge(self._table, read(data), whole=bool(cleaned.get("whole")))
        except Unreadable as error:
            found = Judgement(list(error.faults))
        self.remarks = found.remarks
        if found.faults:
            self.add_error("import_file", ValidationError([str(fault) for fault in found.faults]))
        return cleaned


class TableConfirmForm(ConfirmImportForm):
    """What was shown is what is done: `seen` is the state of the table that the preview compared the file with."""

    whole = forms.BooleanField(widget=forms.HiddenInput, required=False)
    seen = forms.CharField(widget=forms.HiddenInput)

    def clean_format(self) -> str:
        chosen: str = self.cleaned_data["format"]
        if chosen not in map(str, range(len(FORMATS))):
            raise ValidationError("format")
        return chosen

    def clean_resource(self) -> str:
        """There is one of each table."""
        return "0"


class CellWidget(Widget):
    """Reads and spells a cell as `webui.tables.cells` does."""

    def __init__(self, field: Any) -> None:
        parent: Any = super()
        parent.__init__()
        self._field = field

    def clean(self, value: Any, row: Any = None, **kwargs: Any) -> Any:
        return parse(self._field, spell(value))

    def render(self, value: Any, obj: Any = None, **kwargs: Any) -> str:
        return spell(value)


class CellDiff(Diff):
    """Old and new value of each cell. The library's compares letter by letter, slowly, and styles what it finds."""

    def as_html(self) -> list[SafeString]:
        pairs = zip(map(_shortened, self.left), map(_shortened, self.right or [""] * len(self.left)), strict=True)
        return [self._cell("" if self.new else old, new) for old, new in pairs]

    def _cell(self, old: str, new: str) -> SafeString:
        if old == new:
            return format_html("{}", new)
        gone = format_html("<del>{}</del> ", old) if old else ""
        return format_html("{}<ins>{}</ins>", gone, new) if new else format_html("{}", gone)


def _shortened(value: Any) -> str:
    return Truncator(spell(value)).chars(SHOWN_LETTERS)


class TableResource(ModelResource):
    """Imports and exports a resource table. An import is checked like a form and marks what it changes."""

    table: Table

    def __init__(self, **kwargs: Any) -> None:
        parent: Any = super()
        parent.__init__(**kwargs)
        for name, field in columns(self.table).items():
            self.fields[name].widget = CellWidget(field)

    @classmethod
    def get_diff_class(cls) -> type[Diff]:
        return CellDiff

    def import_data(self, *args: Any, **kwargs: Any) -> Any:
        """The rows that are there are read at once and not one by one."""
        self._present = present_rows(self.table)
        self._lacking: set[Any] = set()
        parent: Any = super()
        with looking_up_once():
            return parent.import_data(*args, **kwargs)

    def before_import(self, dataset: Dataset, *, whole: bool = False, **kwargs: Any) -> None:
        """Of a whole table the rows that the file lacks come after its own, to be removed."""
        if not whole:
            return
        rows = [dict(zip(dataset.headers, cells, strict=True)) for cells in dataset[:]]
        named = {self._key_in(row) for row in rows}
        for key, row in self._present.items():
            if key not in named:
                self._lacking.add(row.pk)
                dataset.append([self._spelled(row, name) for name in dataset.headers])

    def _key_in(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(self.fields[name].clean(row) for name in self.table.key)

    def _spelled(self, row: Sourced, name: str) -> str:
        return spell(getattr(row, name)) if name in self.table.key else ""

    def get_instance(self, instance_loader: Any, row: dict[str, Any]) -> Sourced | None:
        return self._present.get(self._key_in(row))

    def for_delete(self, row: Any, instance: Sourced) -> bool:
        return instance.pk is not None and instance.pk in self._lacking

    def delete_instance(self, instance: Sourced, row: Any, **kwargs: Any) -> None:
        """A preview writes nothing."""
        if not kwargs.get("dry_run"):
            _say_why(instance, kwargs)
            instance.delete()

    def validate_instance(
        self, instance: Sourced, import_validation_errors: Any = None, validate_unique: Any = True
    ) -> None:
        """As a file is judged. That a key is there once is known from the rows that are present."""
        if import_validation_errors:
            raise ValidationError(import_validation_errors)
        wrong = row_errors(instance)
        if wrong:
            raise ValidationError({name or NON_FIELD_ERRORS: words for name, words in wrong.items()})

    def save_instance(self, instance: Sourced, is_create: bool, row: Any, **kwargs: Any) -> None:
        """A preview writes nothing."""
        parent: Any = super()
        if not kwargs.get("dry_run"):
            parent.save_instance(instance, is_create, row, **kwargs)

    def before_save_instance(self, instance: Sourced, row: Any, **kwargs: Any) -> None:
        instance.edited = True
        _say_why(instance, kwargs)


def _say_why(instance: Sourced, kwargs: Mapping[str, Any]) -> None:
    instance._change_reason = f"import: {kwargs.get('file_name') or ''}"[:100]  # type: ignore[attr-defined]


def resource_of(table: Table) -> type[TableResource]:
    made: type[TableResource] = modelresource_factory(
        table.model,
        resource_class=TableResource,
        meta_options={
            "exclude": NOT_IN_FILES,
            "export_order": tuple(columns(table)),
            "import_order": tuple(columns(table)),
            "import_id_fields": table.key,
            "clean_model_instances": True,
            "skip_unchanged": True,
            "report_skipped": False,
            "use_transactions": True,
        },
    )
    made.table = table
    return made
