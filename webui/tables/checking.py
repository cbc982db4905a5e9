"""Everything that is wrong in a sheet, before any of it is imported: each fault with its line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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


@dataclass
class Judgement:
    """`faults` in the order of the file; one without any is imported as a whole. `remarks` are read before that."""

    faults: list[Fault] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def columns(table: Table) -> dict[str, models.Field[Any, Any]]:
    """The columns of a table that a file may have: what a row is first, where it comes from last."""
    known = {one.name: one for one in table.model._meta.fields if one.name not in NOT_IN_FILES}
    last = {name: known.pop(name) for name in ("source", "note")}
    return {**known, **last}


def present_rows(table: Table) -> dict[tuple[Any, ...], Sourced]:
    """The rows of a table by their keys."""
    return {key_of_row(row, table): row for row in table.model._default_manager.all()}


def key_of_row(row: Sourced, table: Table) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in table.key)


def judge(table: Table, sheet: Sheet, *, whole: bool = False) -> Judgement:
    """whole: the sheet is the whole table; rows that it lacks are to go."""
    of_header = list(_of_header(table, sheet.header))
    found = Judgement([*sheet.faults, *of_header], list(sheet.remarks))
    if not sheet.rows:
        found.faults.append(Fault(None, "", _("The file has a header and no rows.")))
    judging = _Judging(table, sheet.header, found, judged=not of_header)
    with looking_up_once():
        for row in sheet.rows:
            judging.row(row)
    if not found.faults:
        found.remarks += judging.of_keys(whole)
    return found


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


class _Judging:
    """Judges the rows of one sheet, one after the other. Under a wrong header only its cells can be judged."""

    def __init__(self, table: Table, header: tuple[str, ...], found: Judgement, *, judged: bool) -> None:
        self._table, self._header, self._found, self._whole_rows = table, header, found, judged
        self._columns = columns(table)
        self._present = present_rows(table)
        self._seen: dict[tuple[Any, ...], int] = {}

    def row(self, row: Row) -> None:
        if len(row.cells) != len(self._header):
            words = _("There are %(cells)d cells, but %(columns)d columns.")
            self._fault(row, "", words % {"cells": len(row.cells), "columns": len(self._header)})
            return
        parsed, unread = self._cells(row)
        if not self._whole_rows:
            self._values(row, parsed)
        elif not unread & set(self._table.key):
            self._row(row, parsed, unread)
        else:
            self._values(row, parsed)

    def _fault(self, row: Row, column: str, words: str) -> None:
        self._found.faults.append(Fault(row.line, column, words))

    def _cells(self, row: Row) -> tuple[dict[str, Any], set[str]]:
        """What can be read, and the columns that cannot."""
        parsed: dict[str, Any] = {}
        unread: set[str] = set()
        for name, cell in zip(self._header, row.cells, strict=True):
            if name not in self._columns:
                continue
            try:
                parsed[name] = _value(self._columns[name], cell)
            except ValueError as error:
                unread.add(name)
                self._fault(row, name, str(error))
        return parsed, unread

    def _values(self, row: Row, parsed: Mapping[str, Any]) -> None:
        """Each cell by itself: it is not known which row they make."""
        instance = self._table.model(**parsed)
        unknown = [one.name for one in instance._meta.fields if one.name not in parsed]
        try:
            instance.clean_fields(exclude=unknown)
        except ValidationError as error:
            for name, messages in error.message_dict.items():
                for words in messages:
                    self._fault(row, name, words)

    def _row(self, row: Row, parsed: Mapping[str, Any], unread: set[str]) -> None:
        """The rules of the row, as in its form. A row that the file leaves as it is has been judged before."""
        key = tuple(parsed[name] for name in self._table.key)
        if key in self._seen:
            words = _("This row is in line %(line)d already.") % {"line": self._seen[key]}
            self._fault(row, ", ".join(self._table.key), words)
        self._seen.setdefault(key, row.line)
        known = self._present.get(key)
        if known is not None and all(getattr(known, name) == value for name, value in parsed.items()):
            return
        instance = known if known is not None else self._table.model()
        for name, value in parsed.items():
            setattr(instance, name, value)
        for name, messages in row_errors(instance, unread).items():
            for words in messages:
                self._fault(row, name, words)
        self._found.remarks += [str(Fault(row.line, name, words)) for name, words in instance.doubts().items()]

    def of_keys(self, whole: bool) -> Iterator[str]:
        """A row whose key was changed is a new row; what becomes of the old one must be said."""
        new = len(self._seen.keys() - self._present.keys())
        missing = len(self._present.keys() - self._seen.keys())
        names = {"new": new, "missing": missing, "columns": ", ".join(self._table.key)}
        if whole and missing:
            yield _("Rows of the table that the file lacks, which will be removed: %(missing)d.") % names
        if new and missing and not whole:
            words = _(
                "New rows: %(new)d. Rows of the table that the file lacks: %(missing)d. A row is known by its "
                "%(columns)s: where you have changed one of these, the old row stays beside the new one."
            )
            yield words % names


def _value(field: models.Field[Any, Any], cell: str) -> Any:
    """Raises ValueError with words for the reader."""
    if is_formula(cell):
        words = _("A formula (“%(text)s”) is not taken; put an apostrophe before text that begins so.")
        raise ValueError(words % {"text": cell[:60]})
    return parse(field, plain(cell))


def row_errors(row: Sourced, unread: set[str] | None = None) -> dict[str, list[str]]:
    """What is wrong with a row, by column; "" for what is of the whole row."""
    try:
        row.full_clean(exclude=unread or None, validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        by_name = error.message_dict
        return {"" if name == NON_FIELD_ERRORS else name: words for name, words in by_name.items()}
    return {}
