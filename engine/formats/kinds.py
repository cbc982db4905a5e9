"""What files are made of: JSON and JSON lines, CSV, Parquet, lines of text. Each becomes the same Records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from engine.formats import csv_rows, encodings, json_rows, text_rows
from engine.formats.files import DataFile
from engine.formats.places import Places
from engine.formats.records import Record
from engine.formats.sample import Broken

ParquetReader = Callable[[Path, str], Iterator[Record | Broken]]
"""Path and name of a file → its rows; a row's line is its number, from 1."""


def records(
    file: DataFile, format_name: str, parquet: ParquetReader | None = None, places: Places | None = None
) -> Iterator[Record | Broken]:
    """Every row of a file, whatever it is made of. The content decides before the ending does. Raises OSError.

    parquet: see `formats.read`. A text file is a text a line, and so only for the format `text`.
    """
    with file.path.open("rb") as stream:
        head = stream.read(encodings.HEAD)
        stream.seek(0)
        refusal = encodings.refusal(head, file.name)
        if head.startswith(encodings.PARQUET) or file.path.suffix.lower() == ".parquet":
            yield from _parquet(file, head, parquet)
        elif refusal is not None:
            yield refusal
        else:
            yield from of_stream(stream, file, format_name, places or Places())


def of_stream(stream: BinaryIO, file: DataFile, format_name: str, places: Places) -> Iterator[Record | Broken]:
    """The rows of text that stands in `stream`, which can be a part of the file."""
    suffix = file.path.suffix.lower()
    if suffix == ".csv":
        places.follow("csv", stream.tell)
        yield from csv_rows.records(stream, file.name)
    elif suffix == ".txt" and format_name == "text":
        places.follow("lines", stream.tell)
        yield from text_rows.records(stream, file.name)
    else:
        yield from json_rows.records(stream, file.name, places)


def _parquet(file: DataFile, head: bytes, reader: ParquetReader | None) -> Iterator[Record | Broken]:
    if not head.startswith(encodings.PARQUET):
        yield encodings.refusal(head, file.name) or Broken(1, "file.not_parquet", {}, file.name, ends=True)
    elif reader is None:
        yield Broken(1, "file.parquet", {}, file.name, ends=True)
    else:
        yield from reader(file.path, file.name)
