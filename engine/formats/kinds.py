"""What files are made of: JSON and JSON lines, CSV, Parquet, lines of text. Each becomes the same Records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from engine.formats import csv_rows, encodings, json_rows, text_rows
from engine.formats.files import DataFile
from engine.formats.records import Record
from engine.formats.sample import Broken

ParquetReader = Callable[[Path, str], Iterator[Record | Broken]]
"""Path and name of a file → its rows; a row's line is its number, from 1."""


def records(file: DataFile, format_name: str, parquet: ParquetReader | None = None) -> Iterator[Record | Broken]:
    """Every row of a file, whatever it is made of. The content decides before the ending does. Raises OSError.

    parquet: see `formats.read`. A text file is a text a line, and so only for the format `text`.
    """
    with file.path.open("rb") as stream:
        head = stream.read(encodings.HEAD)
        stream.seek(0)
        refusal = encodings.refusal(head, file.name)
        suffix = file.path.suffix.lower()
        if head.startswith(encodings.PARQUET) or suffix == ".parquet":
            yield from _parquet(file, head, parquet)
        elif refusal is not None:
            yield refusal
        elif suffix == ".csv":
            yield from csv_rows.records(stream, file.name)
        elif suffix == ".txt" and format_name == "text":
            yield from text_rows.records(stream, file.name)
        else:
            yield from json_rows.records(stream, file.name)


def _parquet(file: DataFile, head: bytes, reader: ParquetReader | None) -> Iterator[Record | Broken]:
    if not head.startswith(encodings.PARQUET):
        yield encodings.refusal(head, file.name) or Broken(1, "file.not_parquet", {}, file.name)
    elif reader is None:
        yield Broken(1, "file.parquet", {}, file.name)
    else:
        yield from reader(file.path, file.name)
