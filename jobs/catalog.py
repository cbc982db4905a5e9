"""The catalog of this site: the rows of the database as `engine.catalog.Catalog`."""

from __future__ import annotations

from typing import Any

from django.db import connection

from engine.catalog import Catalog
from jobs.table_values import TABLES, read_catalog

_cached: tuple[tuple[Any, ...], Catalog] | None = None


def current() -> Catalog:
    """The tables as they are now.

    Read once a process and again after any change. Changes are found in the tables' history, so
    a row must be saved with a row of history: `QuerySet.update` goes unnoticed.
    """
    global _cached
    stamp = _stamp()
    if _cached is None or _cached[0] != stamp:
        _cached = (stamp, read_catalog())
    return _cached[1]


def _stamp() -> tuple[Any, ...]:
    """Identifies the newest change of each table, in one query. The count catches ids that are committed out of order.

    The database's own name is in it: a test or a shell may look at another one.
    """
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(_newest(place, table.history._meta.db_table) for place, table in _PLACES))
        return (connection.settings_dict["NAME"], *sorted(cursor.fetchall()))


_PLACES = tuple(enumerate(TABLES))


def _newest(place: int, db_table: str) -> str:
    """Names of our own tables, nothing from outside."""
    name = connection.ops.quote_name(db_table)
    return f"SELECT {place}, MAX(history_id), MAX(history_date), COUNT(*) FROM {name}"
