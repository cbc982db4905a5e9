"""Everything that is wrong in a sheet, before any of it is imported: each fault with its line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models
from django.utils.translation import gettext as _

from jobs.models.table_rules import looking_up_once
from jobs.models.tables import Sourced
from jobs.table_values import Table
from webui.tables.cells import is_formula, parse, plain
from webui.tables.reading import Fault, Row, Sheet

NOT_IN_FILES = ("id", "edited")


def columns(table: Table) -> dict[str, models.Field[Any, Any]]:
    """The columns of a table that a file may have: what a row is first, where it comes from last."""
    known = {field.name: field for field in table.model._meta.fields if field.name not in NOT_IN_FILES}
    last = {name: known.pop(name) for name in ("source", "note")}
    return {**known, **last}


def faults(table: Table, sheet: Sheet) -> list[Fault]:
    """In the order of the file. A file with none is imported as a whole."""
    wrong = list(_of_header(table, sheet.header))
    if wrong:
        return wrong
    if not sheet.rows:
        return [Fault(None, "", _("The file has a header and no rows."))]
    present = {_key(row, table): row for row in table.model._default_manager.all()}
    seen: dict[tuple[Any, ...], int] = {}
    with looking_up_once():
        return [fault for row in sheet.rows for fault in _of_row(table, sheet.header, row, present, seen)]


def _of_header(table: Table, header: tuple[str, ...]) -> Iterator[Fault]:
    known = columns(table)
    for name in dict.fromkeys(header):
        if name not in known:
            words = _("There is no column “%(name)s”. Columns: %(known)s.")
            yield Fault(1, "", words % {"name": name[:60], "known": ", ".join(known)})
        elif header.count(name) > 1:
            yield Fault(1, name, _("This column is there twice."))
    for name in table.key:
        if name not in header:
            yield Fault(1, name, _("This column is missing: it says which row is meant."))


def _of_row(
    table: Table, header: tuple[str, ...], row: Row, present: Mapping[Any, Sourced], seen: dict[tuple[Any, ...], int]
) -> Iterator[Fault]:
    if len(row.cells) != len(header):
        words = _("There are %(cells)d cells, but %(columns)d columns.")
        yield Fault(row.line, "", words % {"cells": len(row.cells), "columns": len(header)})
        return
    parsed: dict[str, Any] = {}
    wrong = list(_of_cells(table, header, row, parsed))
    yield from wrong
    key = tuple(parsed.get(name) for name in table.key)
    if any(fault.column in table.key for fault in wrong):
        return
    if key in seen:
        yield Fault(row.line, ", ".join(table.key), _("This row is in line %(line)d already.") % {"line": seen[key]})
    seen.setdefault(key, row.line)
    yield from _of_instance(table, row.line, present.get(key), parsed, {fault.column for fault in wrong})


def _of_cells(table: Table, header: tuple[str, ...], row: Row, parsed: dict[str, Any]) -> Iterator[Fault]:
    """Fills in `parsed` with what can be read."""
    known = columns(table)
    for name, cell in zip(header, row.cells, strict=True):
        if is_formula(cell):
            words = _("A formula (“%(text)s”) is not taken; put an apostrophe before text that begins so.")
            yield Fault(row.line, name, words % {"text": cell[:60]})
            continue
        try:
            parsed[name] = parse(known[name], plain(cell))
        except ValueError as error:
            yield Fault(row.line, name, str(error))


def _of_instance(
    table: Table, line: int, row: Sourced | None, parsed: Mapping[str, Any], unread: set[str]
) -> Iterator[Fault]:
    """The rules of the row, as in its form. A row that the file leaves as it is has been judged before."""
    if row is not None and all(getattr(row, name) == value for name, value in parsed.items()):
        return
    instance = row if row is not None else table.model()
    for name, value in parsed.items():
        setattr(instance, name, value)
    for name, messages in row_errors(instance, unread).items():
        for words in messages:
            yield Fault(line, name, words)


def row_errors(row: Sourced, unread: set[str] | None = None) -> dict[str, list[str]]:
    """What is wrong with a row, by column; "" for what is of the whole row."""
    try:
        row.full_clean(exclude=unread or None, validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        by_name = error.message_dict
        return {"" if name == NON_FIELD_ERRORS else name: words for name, words in by_name.items()}
    return {}


def _key(row: Sourced, table: Table) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in table.key)
