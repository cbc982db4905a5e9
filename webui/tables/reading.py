"""A file with a table → its lines, or everything that keeps it from being read."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import ParseError

from django.utils.translation import gettext as _
from openpyxl.reader.excel import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from webui.reader import sentences
from webui.tables.cells import plain, spell

MOST_ROWS = 2_000
"""Several times the largest table; a preview of so many takes a few seconds."""
MOST_BYTES = 32 << 20
MOST_UNPACKED = 64 << 20
ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class Fault:
    """Something wrong in a file. `line` is null where it is the whole file."""

    line: int | None
    column: str
    words: str

    def __str__(self) -> str:
        if self.line is None:
            return self.words
        if not self.column:
            return _("Line %(line)d: %(words)s") % {"line": self.line, "words": self.words}
        names = {"line": self.line, "column": self.column, "words": self.words}
        return _("Line %(line)d, %(column)s: %(words)s") % names


class Unreadable(ValueError):
    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__(str(faults[0]))


@dataclass(frozen=True)
class Row:
    line: int
    """Where it begins in the file, from 1."""
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    header: tuple[str, ...]
    rows: tuple[Row, ...]


def read_csv(data: bytes | str) -> Sheet:
    """Raises Unreadable."""
    text = data if isinstance(data, str) else decoded(data)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)

    def lines() -> Iterator[Row]:
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise Unreadable(Fault(line, "", _("This is no CSV: %(error)s") % {"error": error})) from None
            yield Row(line, tuple(cells))

    return _sheet(lines())


def decoded(data: bytes) -> str:
    """UTF-8, with or without a byte order mark. Raises Unreadable, with the remedy, for anything else."""
    _not_too_large(data)
    if data.startswith(ZIP):
        raise Unreadable(Fault(None, "", _("This is an Excel workbook: choose the format xlsx.")))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    remedy = _("Save it as “CSV UTF-8” in the spreadsheet, or send the xlsx file.")
    name = _other_encoding(data)
    found = _("The file is in %(encoding)s, not in UTF-8.") % {"encoding": name} if name else _("This is not UTF-8.")
    raise Unreadable(Fault(line, "", sentences(found, remedy)))


def _other_encoding(data: bytes) -> str:
    """What Chinese and other spreadsheets write; empty if it is none of these."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    return "GBK" if any("一" <= letter <= "鿿" for letter in text) else ""


def read_xlsx(data: bytes) -> Sheet:
    """The first sheet. A formula is its text and not what it amounts to. Raises Unreadable."""
    _not_too_large(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > MOST_UNPACKED:
            raise Unreadable(_too_large())
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=False)
        sheet: Any = book.worksheets[0]
        return _sheet(Row(line, tuple(map(_text, cells))) for line, cells in enumerate(sheet.values, 1))
    except (zipfile.BadZipFile, InvalidFileException, ParseError, KeyError, IndexError, OSError):
        raise Unreadable(Fault(None, "", _("This is no Excel workbook (xlsx)."))) from None


def _text(value: Any) -> str:
    """Excel keeps whole numbers as floats, too."""
    return spell(int(value)) if isinstance(value, float) and value.is_integer() else spell(value)


def _not_too_large(data: bytes) -> None:
    if len(data) > MOST_BYTES:
        raise Unreadable(_too_large())


def _too_large() -> Fault:
    return Fault(None, "", _("The file is larger than %(most)d MB.") % {"most": MOST_BYTES >> 20})


def _sheet(lines: Iterator[Row]) -> Sheet:
    """Without empty lines and with the apostrophes of our own exports taken away."""
    header = next(lines, None)
    if header is None:
        raise Unreadable(Fault(None, "", _("The file is empty.")))
    names = tuple(name.strip() for name in header.cells)
    while names and not names[-1]:
        names = names[:-1]
    rows: list[Row] = []
    count = 0
    for row in lines:
        if any(row.cells):
            count += 1
            if count <= MOST_ROWS:
                rows.append(Row(row.line, _trimmed(row.cells, len(names))))
    if count > MOST_ROWS:
        words = _("The file has %(count)d rows; at most %(most)d are taken at once.")
        raise Unreadable(Fault(rows[-1].line + 1, "", words % {"count": count, "most": MOST_ROWS}))
    return Sheet(names, tuple(rows))


def _trimmed(cells: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Spreadsheets write empty cells beyond the last column."""
    while len(cells) > width and not cells[-1]:
        cells = cells[:-1]
    return cells


def values(row: Row) -> tuple[str, ...]:
    return tuple(map(plain, row.cells))
