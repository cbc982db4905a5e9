"""Rows of a Parquet file, a batch at a time: a file larger than memory is no trouble."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as arrow  # type: ignore[import-untyped]
from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

from engine.formats.records import LONGEST_ROW, Record
from engine.formats.sample import Broken

BATCH = 256
"""Rows held at once, as Python values."""


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
                yield Broken(1, "row.duplicate_key", {"key": twice}, file)
                return
            for batch in parquet.iter_batches(BATCH):
                for value in batch.to_pylist():
                    number += 1
                    yield _record(number, value, file)
    except (arrow.ArrowException, UnicodeDecodeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        yield Broken(number + 1, "file.broken_parquet", {"error": reason}, file)


def _record(number: int, value: dict[str, object], file: str) -> Record | Broken:
    length = sum(len(cell) for cell in value.values() if isinstance(cell, str))
    if length > LONGEST_ROW:
        return Broken(number, "row.too_long", {"limit": LONGEST_ROW >> 20}, file)
    return Record(number, value, file)
