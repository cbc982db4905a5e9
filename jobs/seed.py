"""Brings the resource tables of a release into the database, leaving alone what a person has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

from django.db import transaction
from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from engine.catalog import Catalog, load
from engine.planner.estimates import estimated_rows
from jobs.models import MinDevices
from jobs.models.tables import Sourced
from jobs.table_values import TABLES, Columns, Table, key_of, read_catalog

BY_US = "load_tables"
"""The reason of changes that no person made, even where one was logged in."""
Action = Literal["add", "change", "keep", "remove"]


@dataclass(frozen=True)
class Change:
    """What loading does to one row."""

    action: Action
    row: Sourced
    """With the new values, not saved yet; for `keep`, the row as a person has left it."""
    differences: dict[str, tuple[Any, Any]]
    """Column → (in the database, in the release)."""
    deleted: bool = False
    """Was the row deleted by a person? It is then kept away."""


def load_tables(catalog: Catalog, *, overwrite: bool = False, dry_run: bool = False) -> list[Change]:
    """Make the database's tables equal to `catalog`, estimate our own engine's cells, and say what was changed.

    Rows of the database that the release lacks stay. What a person has edited or deleted is kept so (action `keep`)
    unless `overwrite`. With `dry_run` nothing is written.
    """
    with transaction.atomic():
        found = [change for table in TABLES for change in _changes(table, table.rows_of(catalog), overwrite)]
        _write(found)
        estimates = _estimates(overwrite)
        _write(estimates)
        if dry_run:
            transaction.set_rollback(True)
    return [*found, *estimates]


def refresh_estimates() -> list[Change]:
    """Estimate our own engine's cells anew: a model or a hardware has been edited."""
    with transaction.atomic():
        found = _estimates(overwrite=False)
        _write(found)
    return found


def _estimates(overwrite: bool) -> list[Change]:
    """From the rows as they stand: an edited memory or layer count changes them. One that no longer fits goes."""
    now = read_catalog()
    made = {row.key: row for row in estimated_rows(now, _printed_lengths()) if row.key not in now.min_devices}
    table = next(table for table in TABLES if table.model is MinDevices)
    wanted = table.rows_of(replace(now, min_devices={}, estimates=made))
    stale = [
        Change("remove", row, {})
        for row in MinDevices.objects.filter(estimate=True, edited=False)
        if tuple(getattr(row, name) for name in table.key) not in made
    ]
    return [*_changes(table, wanted, overwrite), *stale]


def _printed_lengths() -> set[int]:
    """Of the rows as loaded, and of the release, lest editing all rows of a length take its estimates away."""
    loaded = MinDevices.objects.filter(estimate=False, edited=False).values_list("seq_length", flat=True)
    return {*loaded.distinct(), *(row.seq_length for row in load().min_devices.values())}


def _write(changes: Iterable[Change]) -> None:
    """With a history row for each, by which `jobs.catalog` notices; a handful of statements a table."""
    for model, group in groupby(changes, key=lambda change: type(change.row)):
        found = list(group)
        added = [change.row for change in found if change.action == "add"]
        bulk_create_with_history(added, model, default_change_reason=BY_US)
        altered = [change.row for change in found if change.action == "change"]
        if altered:
            columns = [field.name for field in model._meta.fields if not field.primary_key]
            bulk_update_with_history(altered, model, columns, default_change_reason=BY_US)
        for change in found:
            if change.action == "remove":
                change.row._change_reason = BY_US  # type: ignore[attr-defined]
                change.row.delete()


def _changes(table: Table, wanted: Iterable[Columns], overwrite: bool) -> Iterator[Change]:
    present = {_key(row, table): row for row in table.model._default_manager.all()}
    deleted = set() if overwrite else _deleted(table)
    for columns in wanted:
        key = key_of(columns, table.key)
        row = present.get(key)
        if row is None and key in deleted:
            yield Change("keep", table.model(**columns), {}, deleted=True)
        elif row is None:
            yield Change("add", table.model(**columns), {})
        elif (change := _change(row, columns, overwrite)) is not None:
            yield change


def _change(row: Sourced, columns: Columns, overwrite: bool) -> Change | None:
    now = {name: getattr(row, name) for name in columns}
    differences = {name: (now[name], new) for name, new in columns.items() if now[name] != new}
    if not differences:
        return None
    if row.edited and not overwrite:
        return Change("keep", row, differences)
    for name, new in columns.items():
        setattr(row, name, new)
    row.edited = False
    return Change("change", row, differences)


def _deleted(table: Table) -> set[tuple[Any, ...]]:
    """Keys of the rows that a person has deleted, even one whose account is gone since."""
    gone = table.history._default_manager.filter(history_type="-").exclude(history_change_reason=BY_US)
    return set(gone.values_list(*table.key))


def _key(row: Sourced, table: Table) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in table.key)
