"""The formats and the form of an import: read and judged by us, shown and carried out by import-export."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from import_export.formats.base_formats import CSV, XLSX
from import_export.forms import ImportForm
from import_export.resources import ModelResource, modelresource_factory
from import_export.widgets import Widget
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from tablib.core import Dataset

from jobs.models.table_rules import looking_up_once
from jobs.models.tables import Sourced
from jobs.table_values import Table
from webui.tables.cells import neutral, parse, spell
from webui.tables.checking import NOT_IN_FILES, columns, faults, row_errors
from webui.tables.reading import Sheet, Unreadable, read_csv, read_xlsx, values


def _dataset(sheet: Sheet) -> Dataset:
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


FORMATS = (TableCSV, TableXLSX)


class TableImportForm(ImportForm):
    """Refuses a file with every fault that is in it."""

    def __init__(self, formats: list[Any], resources: list[Any], **kwargs: Any) -> None:
        parent: Any = super()
        parent.__init__(formats, resources, **kwargs)
        self._formats, self._table = formats, resources[0].table

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        file, chosen = cleaned.get("import_file"), cleaned.get("format")
        if file is None or not chosen:
            return cleaned
        data = b"".join(file.chunks())
        read = read_xlsx if issubclass(self._formats[int(chosen)], TableXLSX) else read_csv
        try:
            found = faults(self._table, read(data))
        except Unreadable as error:
            found = list(error.faults)
        if found:
            self.add_error("import_file", ValidationError([str(fault) for fault in found]))
        return cleaned


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


class TableResource(ModelResource):
    """Imports and exports a resource table. An import is checked like a form and marks what it changes."""

    table: Table

    def __init__(self, **kwargs: Any) -> None:
        parent: Any = super()
        parent.__init__(**kwargs)
        for name, field in columns(self.table).items():
            self.fields[name].widget = CellWidget(field)

    def import_data(self, *args: Any, **kwargs: Any) -> Any:
        """The rows that are there are read at once and not one by one."""
        self._present = {_key(row, self.table): row for row in self.table.model._default_manager.all()}
        parent: Any = super()
        with looking_up_once():
            return parent.import_data(*args, **kwargs)

    def get_instance(self, instance_loader: Any, row: dict[str, Any]) -> Sourced | None:
        return self._present.get(tuple(self.fields[name].clean(row) for name in self.table.key))

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
        instance._change_reason = f"import: {kwargs.get('file_name') or ''}"[:100]  # type: ignore[attr-defined]


def _key(row: Sourced, table: Table) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in table.key)


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
