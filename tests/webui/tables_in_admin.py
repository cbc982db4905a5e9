"""The back office as tests use it: export, import, confirmation."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Sequence

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


def changed(**cells: str) -> tuple[str, ...]:
    """ROW with other cells."""
    return tuple(cells.get(name, cell) for name, cell in zip(HEADER, ROW, strict=True))


def upload(admin: Client, data: bytes, table: str = "mindevices", kind: str = CSV, **headers: str) -> str:
    """The page that answers an import."""
    file = SimpleUploadedFile("table.csv", data)
    values = {"format": kind, "resource": "0", "import_file": file}
    response = admin.post(f"/admin/jobs/{table}/import/", values, headers=headers or None)
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def told(page: str) -> list[str]:
    """The problems that the page lists."""
    lists = re.findall(r'<ul class="errorlist"[^>]*>(.*?)</ul>', page, re.S)
    return re.findall(r"<li>(.*?)</li>", "".join(lists), re.S)


def confirm(admin: Client, page: str, table: str = "mindevices") -> HttpResponse:
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    answer: HttpResponse = admin.post(f"/admin/jobs/{table}/process_import/", {**hidden, "confirm": "yes"})
    return answer


def export(admin: Client, table: str = "mindevices", kind: str = CSV) -> bytes:
    response = admin.post(f"/admin/jobs/{table}/export/", {"format": kind, "resource": "0"})
    assert response.status_code == 200
    return bytes(response.content)
