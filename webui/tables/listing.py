"""Rows of a resource table for the reading page: searched, narrowed, and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from engine.problem_texts import suspect
from jobs.models.tables import Sourced
from jobs.table_values import Table
from webui.reader import language
from webui.tables.cells import spell
from webui.tables.shown import Shown


@dataclass(frozen=True)
class Choice:
    """A column to narrow by, with the values that are in the table."""

    name: str
    label: str
    values: list[tuple[str, str]]
    chosen: str


@dataclass(frozen=True)
class Line:
    cells: list[str]
    source: str
    note: str
    edited: bool


def matching(table: Table, shown: Shown, query: Mapping[str, str]) -> QuerySet[Any]:
    """A value that the column cannot have matches nothing."""
    rows: QuerySet[Any] = table.model._default_manager.all()
    if text := query.get("q", "").strip():
        found = Q()
        for name in shown.search:
            found |= Q(**{f"{name}__icontains": text})
        rows = rows.filter(found)
    for name in shown.filters:
        if value := query.get(name, ""):
            try:
                rows = rows.filter(**{name: value})
            except (ValueError, ValidationError):
                return rows.none()
    return rows


def label(table: Table, name: str) -> str:
    field: Any = table.model._meta.get_field(name)
    found = str(field.verbose_name)
    return found if "_" in found else capfirst(found)  # those of config.json stay as they are


def choices(table: Table, shown: Shown, query: Mapping[str, str]) -> list[Choice]:
    found = []
    for name in shown.filters:
        present = table.model._default_manager.order_by(name).values_list(name, flat=True).distinct()
        values = [(str(value), _shown(value)) for value in present if value != ""]
        found.append(Choice(name, label(table, name), values, query.get(name, "")))
    return found


def lines(rows: Iterable[Sourced], shown: Shown) -> list[Line]:
    return [Line([_cell(row, name) for name in shown.columns], row.source, row.note, row.edited) for row in rows]


def _cell(row: Sourced, name: str) -> str:
    value = getattr(row, name)
    if name == "estimate":
        return _("estimate") if value else ""
    if name == "suspect":
        return suspect(value, language()) if value else ""
    if isinstance(value, list):
        return ", ".join(value)
    if name in ("devices", "min_devices") and value is None:
        return "-"
    return _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return spell(value)
