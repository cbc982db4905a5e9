"""Rows of a CSV file (RFC 4180: commas, double quotes), each with the line on which it starts.

The first row names the columns. Every cell is text; a cell may hold line breaks between quotes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from engine.formats import text_rows
from engine.formats.records import LONGEST_ROW, Record
from engine.formats.sample import Broken


class _NotText(Exception):
    def __init__(self, broken: Broken) -> None:
        self.broken = broken


def records(stream: BinaryIO, file: str) -> Iterator[Record | Broken]:
    """Every row below the first as an object. The file breaks off where quotes are wrong: what follows is unsure."""
    csv.field_size_limit(min(LONGEST_ROW, sys.maxsize))
    source = _Lines(stream, file)
    rows = csv.reader(source, strict=True)
    try:
        names = next(rows, None)
        wrong = _wrong_names(names or [], file)
        if wrong is not None:
            yield wrong
        elif names is not None:
            yield from _objects(rows, names, source, file)
    except _NotText as error:
        yield replace(error.broken, ends=True)
    except csv.Error as error:
        if "field limit" in str(error):
            yield Broken(source.begin, "row.too_long", {"limit": LONGEST_ROW >> 20}, file, ends=True)
        else:
            yield Broken(source.begin, "csv.syntax", {"error": str(error)}, file, ends=True)


class _Lines:
    """The physical lines that the csv module asks for; `begin` is the first of the row that is being read."""

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self._lines = text_rows.lines(stream, file, blank=True)
        self.begin = 1
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        item = next(self._lines)
        if isinstance(item, Broken):
            raise _NotText(item)
        self.number, line = item
        return line


def _wrong_names(names: list[str], file: str) -> Broken | None:
    if len(names) == 1 and any(sign in names[0] for sign in ";\t|"):
        return Broken(1, "csv.separator", {}, file, ends=True)
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    return None if twice is None else Broken(1, "row.duplicate_key", {"key": twice}, file, ends=True)


def _objects(rows: Iterator[list[str]], names: list[str], source: _Lines, file: str) -> Iterator[Record | Broken]:
    source.begin = source.number + 1
    for cells in rows:
        if len(cells) == len(names):
            yield Record(source.begin, dict(zip(names, cells, strict=True)), file)
        elif cells:  # a blank line has none
            counts = {"found": len(cells), "expected": len(names)}
            yield Broken(source.begin, "csv.cells", {**counts}, file)
        source.begin = source.number + 1
