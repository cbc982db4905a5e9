"""Dataset formats. A file here is a format, and its name is the format's name.

Each has two functions and three tuples:

    SUFFIXES                            file endings that it reads
    COLUMNS, TAGS                       fields of ColumnNames and TagNames that it looks at
    sniff(record) -> bool               does this JSON value look like a row of this format?
    reader(columns, tags) -> function   makes a Sample of a Record, or raises RowError

What a file is made of (JSON, CSV, Parquet, lines) is known in `engine/formats/kinds.py` and is the same
for all of them. Reading never stops at a row that it can pass over, so that one pass finds every broken row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from engine.formats import kinds
from engine.formats.fields import guarded
from engine.formats.files import DataFile, find
from engine.formats.kinds import ParquetReader
from engine.formats.records import Record
from engine.formats.sample import Broken, Message, Role, Sample, ToolCall
from engine.formats.sniffing import Sniffed, sniff
from engine.spec import ColumnNames, DatasetChoice, TagNames

NAMES = ("alpaca", "sharegpt", "moss", "openai", "text")

__all__ = [
    "NAMES", "Broken", "DataFile", "Format", "Message", "ParquetReader", "Role", "Sample", "Sniffed", "ToolCall",
    "find", "get", "looks_like", "read", "read_file", "sniff",
]  # fmt: skip


class Format(Protocol):
    """What each format module offers."""

    SUFFIXES: tuple[str, ...]
    COLUMNS: tuple[str, ...]
    TAGS: tuple[str, ...]

    def sniff(self, record: Any) -> bool: ...

    def reader(self, columns: ColumnNames, tags: TagNames) -> Callable[[Record], Sample]: ...


def get(name: str) -> Format:
    """The format of this name, imported on first use. Raises KeyError for an unknown one."""
    if name not in NAMES:
        raise KeyError(name)
    return cast(Format, import_module(f"engine.formats.{name}"))


def read(
    choice: DatasetChoice, files: tuple[DataFile, ...], parquet: ParquetReader | None = None
) -> Iterator[Sample | Broken]:
    """Every row of every file, in order; each knows its file. Raises OSError.

    parquet: what reads Parquet files, which takes a library that the light zone does without
    (`engine.preprocess.parquet.rows`); without it such a file is one Broken, `file.parquet`.
    """
    for file in files:
        yield from read_file(file, choice, parquet)


def read_file(
    file: DataFile | Path, choice: DatasetChoice | str, parquet: ParquetReader | None = None
) -> Iterator[Sample | Broken]:
    """The rows of one file. A bare format name means its own columns and tags. Raises OSError."""
    chosen = DatasetChoice(path="-", format=cast(Any, choice)) if isinstance(choice, str) else choice
    where = file if isinstance(file, DataFile) else DataFile(file, "")
    sample = guarded(get(chosen.format).reader(chosen.columns, chosen.tags))
    for record in kinds.records(where, chosen.format, parquet):
        yield record if isinstance(record, Broken) else sample(record)


def looks_like(record: Any) -> str | None:
    """The name of the format whose row this JSON value looks like; None if of none."""
    return next((name for name in NAMES if get(name).sniff(record)), None)
