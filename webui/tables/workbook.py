"""An Excel workbook → its lines. It can hold much that is no table: what would be lost in silence is a fault."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, time, timedelta
from typing import Any
from xml.etree.ElementTree import ParseError

from django.utils.translation import gettext as _
from openpyxl.reader.excel import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from webui.tables.cells import spell
from webui.tables.reading import Fault, Row, Sheet, Unreadable, gathered, not_too_large

MOST_UNPACKED = 64 << 20
MOST_COLUMNS = 200
"""A workbook may claim 16,384 columns for each of its lines."""
MOST_LINES = 20_000
"""Lines, empty ones among them, that are looked at: a cell far below makes a million of them."""
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*?\bref\s*=\s*"([A-Z]+(\d+):[A-Z]+\d+)"')


def read_xlsx(data: bytes) -> Sheet:
    """The first sheet. A formula is its text and not what it amounts to. Raises Unreadable."""
    not_too_large(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > MOST_UNPACKED:
            words = _("Unpacked, the workbook is larger than %(most)d MB.")
            raise Unreadable(Fault(None, "", words % {"most": MOST_UNPACKED >> 20}))
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=False, keep_links=False)
        faults: list[Fault] = []
        found = gathered(_lines(book.worksheets[0], faults), faults, _other_sheets(book), counted=False)
        return Sheet(found.header, found.rows, (*_merged(book), *found.faults), found.remarks)
    except Unreadable:
        raise
    except (zipfile.BadZipFile, InvalidFileException, ParseError, LookupError, OSError, ValueError, TypeError):
        raise Unreadable(Fault(None, "", _("This is no Excel workbook (xlsx)."))) from None


def _lines(sheet: Any, faults: list[Fault]) -> Iterator[Row]:
    width = 0
    sheet.reset_dimensions()  # what the file says of its own size need not be true
    for line, cells in enumerate(sheet.iter_rows(min_row=1, max_col=MOST_COLUMNS), 1):
        if line > MOST_LINES:
            words = _("There is something below line %(most)d; so long a sheet is not read.")
            faults.append(Fault(line, "", words % {"most": MOST_LINES}))
            return
        texts = [""] * len(cells)
        for place, cell in enumerate(cells):
            if cell.value is not None:
                texts[place] = _text(cell, line, faults)
        while texts and not texts[-1]:
            texts.pop()
        width = width or len(texts)  # of the header; a line ends with its last cell that is filled in
        yield Row(line, (*texts, *[""] * (width - len(texts))))


def _text(cell: Any, line: int, faults: list[Fault]) -> str:
    """Excel keeps whole numbers as floats, too. A word that it has taken for a date or an error is refused."""
    value = cell.value
    if cell.data_type == "f":
        return value if isinstance(value, str) else str(getattr(value, "text", None) or "={}")
    if cell.data_type == "e" or isinstance(value, date | time | timedelta):
        words = _("Cell %(cell)s holds a date, “%(text)s”. Enter it as text.")
        if cell.data_type == "e":
            words = _("Cell %(cell)s holds the error %(text)s.")
        faults.append(Fault(line, "", words % {"cell": cell.coordinate, "text": value}))
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return spell(int(value)) if isinstance(value, float) and value.is_integer() else spell(value)


def _merged(book: Any) -> Iterator[Fault]:
    """In merged cells only the first has a value; an empty number of devices would mean that it is unsupported."""
    sheet = book.worksheets[0]
    part = sheet._worksheet_path  # openpyxl reads merged cells only with the whole sheet in memory
    for found in _MERGED.finditer(book._archive.read(part)):
        words = _("The cells %(cells)s are merged. Separate them, and fill in each.")
        yield Fault(int(found[2]), "", words % {"cells": found[1].decode()})


def _other_sheets(book: Any) -> tuple[str, ...]:
    names = book.sheetnames
    if len(names) < 2:
        return ()
    words = _("The workbook has %(count)d sheets. Only “%(name)s” is read.")
    return (words % {"count": len(names), "name": book.worksheets[0].title},)
