"""One row of a file by its number, raw and read."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO, cast

from engine.formats import Broken, DataFile, text_rows
from engine.formats.kinds import of_stream, records
from engine.formats.places import Places
from engine.formats.records import Record
from engine.inspection import parquet_rows
from engine.inspection.row_index import RowIndex
from engine.inspection.window import Window

RAW_MOST = 1 << 18
"""Bytes of a row that are shown as they are."""
HEAD = 256
"""Bytes that are shown of a file that is no text."""
_BETWEEN = re.compile(rb"[\s,]*")
_AROUND = {"lines": b"\r\n", "csv": b"\r\n", "array": b" \t\r\n,"}
"""What is between the rows, by kind."""
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[?")


@dataclass(frozen=True)
class RawRow:
    """raw: its first RAW_MOST bytes as text; size: all of its bytes."""

    record: Record | Broken
    raw: str
    size: int


def read_row(file: DataFile, format_name: str, index: RowIndex, row: int) -> RawRow:
    """Row `row` of a file, from 1. Raises IndexError if there is none, OSError if the file cannot be read."""
    if not 0 < row <= index.rows:
        raise IndexError(row)
    if not index.marks:
        return _without_places(file, format_name, row)
    place = index.before(row)
    first, _, line = index.marks[place]
    with file.path.open("rb") as stream:
        part = _Part(stream, file, format_name, index, place)
        found, begin, end = part.row(row - first)
        raw = part.bytes(begin, min(end, begin + RAW_MOST))
    size = end - begin
    if size <= RAW_MOST:
        raw = (_OPENING.sub(b"", raw, count=1) if index.kind == "array" and not begin else raw).strip(
            _AROUND[index.kind]
        )
        size = len(raw)
    if isinstance(found, Broken) and row == index.rows and index.last is not None:
        found = index.last  # it was read with all that stands before it
    else:
        found = replace(found, line=found.line - part.first_line + line)
    return RawRow(found, raw.decode("utf-8", "backslashreplace"), size)


class _Part:
    """The rows between two marks, read as if they were a file of their own."""

    def __init__(self, stream: BinaryIO, file: DataFile, format_name: str, index: RowIndex, place: int) -> None:
        self._file, self._format = file, format_name
        start = index.marks[place][1]
        is_last = place + 1 == len(index.marks)
        end = file.path.stat().st_size if is_last else index.marks[place + 1][1]
        before = after = b""
        if index.kind == "array":
            before, after = b"[" if place else b"", b"" if is_last else b"]"
            start += _between(stream, start) if place else 0
        elif index.kind == "csv":
            before = _header(stream)
            start = max(start, len(before))
        self._before = len(before)
        self._window = cast(BinaryIO, io.BufferedReader(Window(stream, start, end, before, after)))
        self.first_line = 1

    def row(self, number: int) -> tuple[Record | Broken, int, int]:
        """The row of this number, from 1, and between which bytes of the window it lies."""
        places = Places()
        begin = self._before
        for count, record in enumerate(of_stream(self._window, self._file, self._format, places), start=1):
            self.first_line = record.line if count == 1 else self.first_line
            end = max(begin, places.now())
            if count == number:
                breaks_off = isinstance(record, Broken) and places.kind == "array"
                return record, begin, self._window.seek(0, io.SEEK_END) if breaks_off else end
            begin = end
        raise IndexError(number)

    def bytes(self, begin: int, end: int) -> bytes:
        self._window.seek(begin)
        return self._window.read(end - begin)


def _between(stream: BinaryIO, start: int) -> int:
    """Bytes of comma and space that stand at `start`."""
    stream.seek(start)
    match = _BETWEEN.match(stream.read(1 << 16))
    return match.end() if match else 0


def _header(stream: BinaryIO) -> bytes:
    """The first row of a CSV file, which names the columns."""
    stream.seek(0)
    texts = (item[1] for item in text_rows.lines(stream, "", blank=True) if not isinstance(item, Broken))
    next(csv.reader(texts), None)
    end = stream.tell()
    stream.seek(0)
    return stream.read(end)


def _without_places(file: DataFile, format_name: str, row: int) -> RawRow:
    """A row of a Parquet file as JSON, or what is said of a file that is no text."""
    found = parquet_rows.one(file.path, file.name, row)
    if found is None:
        found = next(islice(records(file, format_name, parquet_rows.reader), row - 1, None))
    if isinstance(found, Record):
        raw = json.dumps(found.value, ensure_ascii=False, indent=2, default=str)
        return RawRow(found, raw[:RAW_MOST], len(raw.encode("utf-8", "backslashreplace")))
    with file.path.open("rb") as stream:
        head = stream.read(HEAD)
    return RawRow(found, head.decode("utf-8", "backslashreplace"), file.path.stat().st_size)
