"""Parquet files: read as preprocessing does, or one row alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from engine.formats.records import Record
from engine.formats.sample import Broken


def reader(path: Path, name: str) -> Iterator[Record | Broken]:
    """Imported on first use: pyarrow takes its time."""
    from engine.preprocess.parquet import rows

    return rows(path, name)


def one(path: Path, name: str, row: int) -> Record | Broken | None:
    """One row, from 1, out of its row group; None if it is not to be had so."""
    import pyarrow as arrow  # type: ignore[import-untyped]
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

    from engine.preprocess.parquet import BATCH

    first = 0
    try:
        with ParquetFile(path) as parquet:
            for group in range(parquet.num_row_groups):
                count = parquet.metadata.row_group(group).num_rows
                if row <= first + count:
                    batch, place = divmod(row - first - 1, BATCH)
                    values = next(islice(parquet.iter_batches(BATCH, row_groups=[group]), batch, None))
                    return Record(row, values.slice(place, 1).to_pylist()[0], name)
                first += count
    except (arrow.ArrowException, OSError, ValueError):
        return None
    return None
