"""A file with a table → its lines, and everything that keeps it from being taken."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from webui.reader import sentences
from webui.tables.cells import plain

MOST_ROWS = 2_000
"""Several times the largest table; a preview of so many takes a few seconds."""
MOST_BYTES = 32 << 20
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
    """At most MOST_ROWS of them."""
    faults: tuple[Fault, ...] = ()
    """For these the file is refused. Its rows are there all the same, so that their faults are told with them."""
    remarks: tuple[str, ...] = ()
    """What a person should know before the file is taken."""


def read_csv(data: bytes | str) -> Sheet:
    """Raises Unreadable where no lines can be made out at all."""
    text, faults = (data, list[Fault]()) if isinstance(data, str) else decoded(data)
    text = text.removeprefix("\ufeff")
    separator = _separator(text)
    if separator != ",":
        words = _("The columns are separated by “%(found)s”, not by commas.")
        faults.append(Fault(1, "", words % {"found": "Tab" if separator == "\t" else separator}))
    return gathered(_csv_lines(text, separator, faults), faults)


def _csv_lines(text: str, separator: str, faults: list[Fault]) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            faults.append(Fault(line, "", _("This is no CSV: %(error)s") % {"error": error}))
            return
        yield Row(line, tuple(cells))


def _separator(text: str) -> str:
    """Spreadsheets of some countries write semicolons, and what was copied from one has tabs."""
    first = text.partition("\n")[0]
    return next((other for other in ";\t" if other in first and "," not in first), ",")


def decoded(data: bytes) -> tuple[str, list[Fault]]:
    """UTF-8, with or without a byte order mark; of another encoding the text and, as a fault, the remedy.

    Raises Unreadable for what is no text.
    """
    not_too_large(data)
    if data.startswith(ZIP):
        raise Unreadable(Fault(None, "", _("This is an Excel workbook: choose the format xlsx.")))
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    remedy = _("Save it as “CSV UTF-8” in the spreadsheet, or send the xlsx file.")
    name, text = _other_encoding(data)
    if not name:
        raise Unreadable(Fault(line, "", sentences(_("This is not UTF-8."), remedy)))
    found = _("The file is in %(encoding)s, not in UTF-8.") % {"encoding": name}
    return text, [Fault(line, "", sentences(found, remedy))]


def _other_encoding(data: bytes) -> tuple[str, str]:
    """What Chinese and other spreadsheets write, and the text; twice empty if it is none of these."""
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "UTF-16", data.decode("utf-16")
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return "", ""
    return ("GBK", text) if any("一" <= letter <= "鿿" for letter in text) else ("", "")


def not_too_large(data: bytes) -> None:
    if len(data) > MOST_BYTES:
        raise Unreadable(Fault(None, "", _("The file is larger than %(most)d MB.") % {"most": MOST_BYTES >> 20}))


def gathered(
    lines: Iterator[Row], faults: list[Fault], remarks: tuple[str, ...] = (), *, counted: bool = True
) -> Sheet:
    """Without empty lines. `lines` may add to `faults` while it is read. Raises Unreadable when there is no line.

    counted: read to the end to tell how many there are, where that is quickly done.
    """
    header = next(lines, None)
    if header is None:
        raise Unreadable(*faults, Fault(None, "", _("The file is empty.")))
    names = tuple(name.strip() for name in header.cells)
    while names and not names[-1]:
        names = names[:-1]
    rows: list[Row] = []
    first_beyond, count = 0, 0
    for row in lines:
        if any(cell.strip() for cell in row.cells):
            count += 1
            if count <= MOST_ROWS:
                rows.append(Row(row.line, _trimmed(row.cells, len(names))))
            first_beyond = first_beyond or (row.line if count > MOST_ROWS else 0)
            if first_beyond and not counted:
                break
    if first_beyond:
        words = _("The file has %(count)d rows; at most %(most)d are taken at once.")
        if not counted:
            words = _("The file has more than %(most)d rows; at most so many are taken at once.")
        faults.append(Fault(first_beyond, "", words % {"count": count, "most": MOST_ROWS}))
    return Sheet(names, tuple(rows), tuple(faults), remarks)


def _trimmed(cells: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Spreadsheets write empty cells beyond the last column."""
    while len(cells) > width and not cells[-1]:
        cells = cells[:-1]
    return cells


def values(row: Row) -> tuple[str, ...]:
    """Without the apostrophes of our own exports."""
    return tuple(map(plain, row.cells))
