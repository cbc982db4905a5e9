"""Brings the resource tables of a release into the database, leaving alone what a person has changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from django.db import transaction
from simple_history.utils import bulk_create_with_history

from engine.catalog import Catalog
from jobs.catalog import as_values
from jobs.models import Hardware, MinDevices, TrainableModel
from jobs.models.tables import Sourced

Key = tuple[Any, ...]
KEYS: dict[type[Hardware] | type[TrainableModel] | type[MinDevices], tuple[str, ...]] = {
    Hardware: ("name",),
    TrainableModel: ("name",),
    MinDevices: ("model", "strategy", "seq_length", "framework", "hardware"),
}
"""What makes a row of a table the same row."""


@dataclass(frozen=True)
class Change:
    """What loading does to one row."""

    action: Literal["add", "change", "keep"]
    row: Sourced
    """With the new values, not saved yet; for `keep`, the row that a person has edited."""
    differences: dict[str, tuple[Any, Any]]
    """Column → (in the database, in the release)."""


def load_tables(catalog: Catalog, *, overwrite: bool = False, dry_run: bool = False) -> list[Change]:
    """Make the database's tables equal to `catalog`, and say what was changed.

    Rows of the database that the release lacks stay. An edited row is kept (action `keep`) unless
    `overwrite`. With `dry_run` nothing is written.
    """
    with transaction.atomic():
        found = list(_changes(catalog, overwrite))
        if not dry_run:
            _write(found)
    return found


def _write(changes: Iterable[Change]) -> None:
    """With a history row for each, by which `jobs.catalog` notices."""
    added: dict[type[Sourced], list[Sourced]] = defaultdict(list)
    for change in changes:
        if change.action == "add":
            added[type(change.row)].append(change.row)
        elif change.action == "change":
            change.row.save()
    for model, rows in added.items():
        bulk_create_with_history(rows, model)


def _changes(catalog: Catalog, overwrite: bool) -> Iterator[Change]:
    values: dict[Any, Iterable[Any]] = {
        Hardware: catalog.hardware.values(),
        TrainableModel: catalog.models.values(),
        MinDevices: catalog.min_devices.values(),
    }
    for model, names in KEYS.items():
        present: dict[Key, Any] = {_key(row, names): row for row in model._default_manager.all()}
        for value in values[model]:
            change = _change(model, present.get(_key(value, names)), value, overwrite)
            if change is not None:
                yield change


def _change(model: type[Any], row: Any | None, value: Any, overwrite: bool) -> Change | None:
    if row is None:
        return Change("add", model(**_columns(value)), {})
    old = as_values(row, type(value))
    differences = {name: (old[name], new) for name, new in vars(value).items() if old[name] != new}
    if not differences:
        return None
    if row.edited and not overwrite:
        return Change("keep", row, differences)
    for name, new in _columns(value).items():
        setattr(row, name, new)
    row.edited = False
    return Change("change", row, differences)


def _columns(value: Any) -> dict[str, Any]:
    return {name: list(item) if isinstance(item, tuple) else item for name, item in vars(value).items()}


def _key(row: Any, names: tuple[str, ...]) -> Key:
    return tuple(getattr(row, name) for name in names)
