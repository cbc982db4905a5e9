"""The catalog of this site: the rows of the database as `engine.catalog.Catalog`."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from django.apps import apps
from django.db.models import Count, Max, Model

from engine.catalog import Catalog, HardwareRow, MinDevicesRow, ModelRow, load
from jobs.models import Hardware, MinDevices, TrainableModel

Row = HardwareRow | ModelRow | MinDevicesRow
TABLES: tuple[tuple[type[Hardware] | type[TrainableModel] | type[MinDevices], type[Row]], ...] = (
    (Hardware, HardwareRow),
    (TrainableModel, ModelRow),
    (MinDevices, MinDevicesRow),
)
"""Each table with the engine's value for one of its rows."""

HISTORIES = [apps.get_model("jobs", f"Historical{model.__name__}") for model, _ in TABLES]

_cached: tuple[tuple[Any, ...], Catalog] | None = None


def current() -> Catalog:
    """The tables as they are now.

    Read once a process and again after any change. Changes are found in the tables' history, so
    a row must be saved or deleted one by one: `QuerySet.update` goes unnoticed.
    """
    global _cached
    stamp = _stamp()
    if _cached is None or _cached[0] != stamp:
        _cached = (stamp, _read())
    return _cached[1]


def _stamp() -> tuple[Any, ...]:
    """Identifies the newest change. The count catches ids that are committed out of order."""
    newest = {"id": Max("history_id"), "date": Max("history_date"), "count": Count("history_id")}
    return tuple(tuple(history.objects.aggregate(**newest).values()) for history in HISTORIES)


def _read() -> Catalog:
    """The tables of the database; those that it does not hold yet come from the release's files."""
    return replace(
        load(),
        hardware={row.name: HardwareRow(**as_values(row, HardwareRow)) for row in Hardware.objects.all()},
        models={row.name: ModelRow(**as_values(row, ModelRow)) for row in TrainableModel.objects.all()},
        min_devices={
            value.key: value
            for value in (MinDevicesRow(**as_values(row, MinDevicesRow)) for row in MinDevices.objects.all())
        },
    )


def as_values(row: Model, kind: type[Row]) -> dict[str, Any]:
    """The columns of `row` that `kind` has; a JSON list becomes a tuple."""
    values = {field.name: getattr(row, field.name) for field in fields(kind)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
