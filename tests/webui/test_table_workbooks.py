"""Excel workbooks as an import: the same damage is told as of CSV, and what only a workbook can hold."""

from __future__ import annotations

import csv
import io
import resource
import time
import zipfile
from datetime import datetime
from typing import Any

import openpyxl
import pytest
from django.test import Client
from openpyxl.worksheet.formula import ArrayFormula

from jobs.catalog import current
from jobs.models import MinDevices
from jobs.table_values import TABLES
from tests.webui.tables_in_admin import (
    ROW,
    XLSX,
    as_csv,
    as_xlsx,
    changed,
    confirm,
    remarks,
    saved,
    told,
    upload,
)
from tests.webui.test_table_import import DAMAGE, KEY, admin, unchanged

__all__ = ("admin", "unchanged")
ONLY_CSV = ("GBK", "100,000 rows", "other damage")
MANY = 100_000


def sheet_of(book: openpyxl.Workbook) -> Any:
    assert book.active is not None
    return book.active


@pytest.mark.parametrize("kind", [kind for kind in DAMAGE if kind not in ONLY_CSV])
def test_damage_of_a_workbook_is_told_as_that_of_csv(admin: Client, unchanged: None, kind: str) -> None:
    data, english, _chinese = DAMAGE[kind]
    header, *rows = csv.reader(io.StringIO(data.decode()))
    lines = told(upload(admin, as_xlsx(*rows, header=header), kind=XLSX))
    assert len(lines) == len(english)
    for line, words in zip(lines, english, strict=True):
        assert line.startswith(words)


def test_numbers_are_taken_and_other_kinds_of_cells_are_not(admin: Client, unchanged: None) -> None:
    data = as_xlsx(
        changed(devices="6.5"),
        (*ROW[:5], True, *ROW[6:]),
        (*ROW[:2], datetime(2026, 4, 2), *ROW[3:]),
        changed(devices="#REF!"),
        changed(devices="=4+4"),
        (*ROW[:5], ArrayFormula("F7", "=SUM(1,2)"), *ROW[6:]),
        changed(note="@x"),
        changed(note="+x"),
        changed(note="-x"),
        changed(devices="８"),
    )
    lines = told(upload(admin, data, kind=XLSX))
    begins = [
        "Line 4: Cell C4 holds a date, “2026-04-02 00:00:00”. Enter it as text.",
        "Line 5: Cell F5 holds the error #REF!.",
        "Line 2, devices: “6.5” is no whole number.",
        "Line 3, devices: “TRUE” is no whole number.",
        "Line 6, devices: A formula (“=4+4”) is not taken",
        "Line 7, devices: A formula (“=SUM(1,2)”) is not taken",
        "Line 8, note: A formula (“@x”) is not taken",
        "Line 9, note: A formula (“+x”) is not taken",
        "Line 10, note: A formula (“-x”) is not taken",
    ]
    for words in begins:
        assert any(line.startswith(words) for line in lines), (words, lines)


def test_a_whole_number_may_be_a_float_and_a_short_line_is_filled_up(admin: Client) -> None:
    page = upload(admin, as_xlsx((*ROW[:2], 4096.0, *ROW[3:5], 8.0)), kind=XLSX)
    assert told(page) == []
    confirm(admin, page)
    assert current().min_devices[KEY].devices == 8


def test_merged_cells_are_refused_since_all_but_one_are_empty(admin: Client, unchanged: None) -> None:
    book = openpyxl.load_workbook(io.BytesIO(as_xlsx(ROW, changed(seq_length="8192"))))
    sheet_of(book).merge_cells("F2:F3")
    assert told(upload(admin, saved(book), kind=XLSX)) == [
        "Line 2: The cells F2:F3 are merged. Separate them, and fill in each."
    ]


def test_of_several_sheets_the_first_is_read_and_the_preview_says_so(admin: Client) -> None:
    book = openpyxl.load_workbook(io.BytesIO(as_xlsx(changed(devices="8"))))
    sheet_of(book).title = "Cards"
    book.create_sheet("Drafts").append(["=1+1"])
    page = upload(admin, saved(book), kind=XLSX)
    assert told(page) == []
    assert remarks(page)[0] == "The workbook has 2 sheets. Only “Cards” is read."


def test_columns_beyond_the_header_that_look_empty_do_no_harm(admin: Client, unchanged: None) -> None:
    book = openpyxl.load_workbook(io.BytesIO(as_xlsx(ROW)))
    sheet_of(book)["AD2"] = "stray"
    assert told(upload(admin, saved(book), kind=XLSX)) == ["Line 2: There are 30 cells, but 8 columns."]


def rewritten(data: bytes, part: str, old: bytes, new: bytes) -> bytes:
    """The workbook with some bytes of one part replaced."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            content = source.read(name)
            assert name != part or old in content
            target.writestr(name, content.replace(old, new) if name == part else content)
    return made.getvalue()


SHEET = "xl/worksheets/sheet1.xml"
BOMBS = {
    "unpacked": lambda data: rewritten(data, "xl/styles.xml", b"</styleSheet>", b" " * (70 << 20) + b"</styleSheet>"),
    "a line far below": lambda data: rewritten(data, SHEET, b'<row r="2"', b'<row r="1000000000"'),
    "a wide size": lambda data: rewritten(data, SHEET, b'ref="A1:H2"', b'ref="A1:XFD1048576"'),
    "entities": lambda data: rewritten(
        data, SHEET, b"<worksheet", b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + b"".join(
            b'<!ENTITY %c "%s">' % (letter, b"&%c;" % (letter - 1) * 10) for letter in range(ord("b"), ord("m"))
        ) + b"]><worksheet"
    ),
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_or_read_at_once(admin: Client, unchanged: None, bomb: str) -> None:
    data = BOMBS[bomb](as_xlsx(changed(devices="many")))
    before = time.process_time()
    lines = told(upload(admin, data, kind=XLSX))
    assert time.process_time() - before < 5
    assert lines


def test_a_hundred_thousand_lines_are_refused_with_little_time_and_memory(admin: Client, unchanged: None) -> None:
    cells = "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in changed(seq_length="%d"))
    rows = "".join(f"<row>{cells % number}</row>" for number in range(1, MANY + 1))
    data = rewritten(as_xlsx(), SHEET, b"</sheetData>", f"{rows}</sheetData>".encode())
    memory, before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    lines = told(upload(admin, data, kind=XLSX))
    assert lines == ["Line 2002: The file has more than 2000 rows; at most so many are taken at once."]
    print(time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory, len(data))
    assert time.process_time() - before < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 400_000  # KiB


def test_a_hundred_thousand_lines_of_csv_take_seconds(admin: Client, unchanged: None) -> None:
    data = as_csv(*(changed(seq_length=str(number)) for number in range(1, MANY + 1)))
    before = time.process_time()
    assert len(told(upload(admin, data))) == 1
    assert time.process_time() - before < 10
    assert MinDevices.objects.count() > 0
    print(f"{time.process_time() - before:.1f} s")


@pytest.mark.parametrize("slug", [table.slug for table in TABLES])
def test_an_empty_workbook_is_refused_for_every_table(admin: Client, unchanged: None, slug: str) -> None:
    assert told(upload(admin, saved(openpyxl.Workbook()), slug, XLSX)) == ["The file is empty."]
