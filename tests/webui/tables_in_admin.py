"""The back office as tests use it: export, import, confirmation."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Sequence

import openpyxl
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

CSV, XLSX = "0", "1"
HEADER = ("model", "strategy", "seq_length", "framework", "hardware", "devices", "source", "note")
ROW = ("llama3.1-8b", "full", "4096", "mindspeed-llm", "snt9b", "16", "a colleague", "")


def as_csv(*rows: Sequence[str], header: Sequence[str] = HEADER, ending: str = "\n") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=ending)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def as_xlsx(*rows: Sequence[object], header: Sequence[object] = HEADER) -> bytes:
    """Each cell as Excel would keep it: what is a number is one; of `=` a formula."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (header, *rows):
        sheet.append([int(cell) if isinstance(cell, str) and cell.isdecimal() else cell for cell in row])
    return saved(book)


def saved(book: openpyxl.Workbook) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def changed(**cells: str) -> tuple[str, ...]:
    """ROW with other cells."""
    return tuple(cells.get(name, cell) for name, cell in zip(HEADER, ROW, strict=True))


def upload(
    admin: Client, data: bytes, table: str = "mindevices", kind: str = CSV, *, whole: bool = False, **headers: str
) -> str:
    """The page that answers an import. whole: the file is the whole table."""
    file = SimpleUploadedFile("table.csv", data)
    values: dict[str, object] = {"format": kind, "resource": "0", "import_file": file}
    if whole:
        values["whole"] = "on"
    response = admin.post(f"/admin/jobs/{table}/import/", values, headers=headers or None)
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def told(page: str) -> list[str]:
    """The problems that the page lists."""
    lists = re.findall(r'<ul class="errorlist"[^>]*>(.*?)</ul>', page, re.S)
    return re.findall(r"<li>(.*?)</li>", "".join(lists), re.S)


def remarks(page: str) -> list[str]:
    """What the preview says beside the rows."""
    found = re.search(r'<ul class="messagelist" id="remarks">(.*?)</ul>', page, re.S)
    return re.findall(r'<li class="warning">(.*?)</li>', found[1], re.S) if found else []


def totals(page: str) -> list[int]:
    """New, changed, removed and unchanged rows of a preview."""
    found = re.search(r'<p id="totals">(.*?)</p>', page, re.S)
    return [int(number) for number in re.findall(r"\d+", found[1])] if found else []


def hidden(page: str) -> dict[str, str]:
    """What the confirmation hands in."""
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))


def confirm(admin: Client, page: str, table: str = "mindevices", **changes: str) -> HttpResponse:
    values = {**hidden(page), "confirm": "yes", **changes}
    answer: HttpResponse = admin.post(f"/admin/jobs/{table}/process_import/", values)
    return answer


def export(admin: Client, table: str = "mindevices", kind: str = CSV) -> bytes:
    response = admin.post(f"/admin/jobs/{table}/export/", {"format": kind, "resource": "0"})
    assert response.status_code == 200
    return bytes(response.content)
