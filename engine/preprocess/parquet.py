"""Rows of a Parquet file, a batch at a time: a file larger than memory is no trouble."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as arrow  # type: ignore[import-untyped]
from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

from engine.formats.records import LONGEST_ROW, Record
from engine.formats.sample import Broken
from engine.problems import Value

BATCH = 256
"""Rows held at once, as Python values."""

MANY, MOST_ROWS_IN_BYTE = 1_000_000, 8
LARGE, MOST_PACKED = 1 << 26, 500
"""Beyond a million rows, a byte of the file holds at most 8 rows; and beyond 64 MB of a column, at most 500 bytes of
it. Text is packed to a tenth; what is far beyond was made to fill a disk or a memory."""


def rows(path: Path, file: str = "") -> Iterator[Record | Broken]:
    """Every row as an object of its columns; its line is its number, from 1. Raises OSError.

    Numbers, dates and bytes stay what they are: a format that wants text says so. `file` names the file in
    what comes out.
    """
    number = 0
    try:
        with ParquetFile(path) as parquet:
            names = parquet.schema_arrow.names
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                yield Broken(1, "row.duplicate_key", {"key": twice}, file, ends=True)
                return
            if (packed := _too_packed(parquet, path.stat().st_size, file)) is not None:
                yield packed
                return
            for batch in parquet.iter_batches(BATCH):
                for value in batch.to_pylist():
                    number += 1
                    yield _record(number, value, file)
    except (arrow.ArrowException, UnicodeDecodeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        yield Broken(number + 1, "file.broken_parquet", {"error": reason}, file, ends=True)


def _too_packed(parquet: ParquetFile, size: int, file: str) -> Broken | None:
    """A few kilobytes can hold rows for weeks, or a cell that fills the memory; the file's own counts say so."""
    rows, largest = parquet.metadata.num_rows, 0
    for group in range(parquet.num_row_groups):
        part = parquet.metadata.row_group(group)
        for column in (part.column(number) for number in range(part.num_columns)):
            if column.total_uncompressed_size > MOST_PACKED * column.total_compressed_size:
                largest = max(largest, column.total_uncompressed_size)
    if largest <= LARGE and (rows <= MANY or rows <= MOST_ROWS_IN_BYTE * size):
        return None
    told: dict[str, Value] = {"rows": rows, "size": largest >> 20, "packed": max(1, size >> 10)}
    return Broken(1, "file.too_packed", told, file, ends=True)


def _record(number: int, value: dict[str, object], file: str) -> Record | Broken:
    length = sum(len(cell) for cell in value.values() if isinstance(cell, str))
    if length > LONGEST_ROW:
        return Broken(number, "row.too_long", {"limit": LONGEST_ROW >> 20}, file)
    return Record(number, value, file)
