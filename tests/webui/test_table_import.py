"""An import of a resource table: damage changes nothing and is listed line by line, in the reader's language."""

from __future__ import annotations

import io
from typing import Any

import openpyxl
import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.catalog import current
from jobs.models import MinDevices
from jobs.table_values import TABLES
from tests.webui.tables_in_admin import HEADER, ROW, XLSX, as_csv, changed, confirm, export, told, upload

KEY = ("llama3.1-8b", "full", 4096, "mindspeed-llm", "snt9b")


@pytest.fixture
def admin(tables: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("chief"), backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def unchanged(admin: Client) -> Any:
    """Nothing in any table, nor in its history, is other than before."""

    def state() -> list[Any]:
        rows = [list(table.model._default_manager.order_by("pk").values_list()) for table in TABLES]
        return [*rows, *(table.history._default_manager.count() for table in TABLES)]

    before = state()
    yield
    assert state() == before


TWO = (changed(devices="16"), changed(devices="8", seq_length="8192"))
DAMAGE: dict[str, tuple[bytes, list[str], list[str]]] = {
    "wrong header": (
        as_csv(ROW, header=("modell", *HEADER[1:])),
        ["Line 1: There is no column “modell”", "Line 1, model: This column is missing"],
        ["第 1 行：没有“modell”列", "第 1 行，model：缺少此列"],
    ),
    "text for a number": (
        as_csv(changed(devices="many"), changed(seq_length="4k")),
        ["Line 2, devices: “many” is no whole number.", "Line 3, seq_length: “4k” is no whole number."],
        ["第 2 行，devices：“many”不是整数。", "第 3 行，seq_length：“4k”不是整数。"],
    ),
    "unknown model": (
        as_csv(changed(model="llama9-1b"), *TWO),
        ["Line 2, model: The model table has no row of this name."],
        ["第 2 行，model：模型表中没有此名称的行。"],
    ),
    "duplicate key": (
        as_csv(*TWO, changed(devices="4")),
        ["Line 4, model, strategy, seq_length, framework, hardware: This row is in line 2 already."],
        ["第 4 行，model, strategy, seq_length, framework, hardware：此行已在第 2 行出现。"],
    ),
    "negative": (
        as_csv(TWO[1], changed(devices="-4")),
        ["Line 3, devices: Ensure this value is greater than or equal to 1."],
        ["第 3 行，devices：确保该值大于或等于1。"],
    ),
    "odd DIE": (
        as_csv(TWO[0], changed(hardware="snt9b23", devices="3")),
        ["Line 3, devices: snt9b23 uses devices in steps of 2; leave it empty for unsupported."],
        ["第 3 行，devices：snt9b23 以 2 个设备为单位分配；不支持时请留空。"],
    ),
    "GBK": (
        as_csv(TWO[1], changed(note="由同事测得")).decode().encode("gbk"),
        ["Line 3: The file is in GBK, not in UTF-8. Save it as “CSV UTF-8” in the spreadsheet, or send the xlsx file."],
        ["第 3 行：文件编码为 GBK，而不是 UTF-8。请在表格软件中另存为“CSV UTF-8”，或上传 xlsx 文件。"],
    ),
    "formula cells": (
        as_csv(changed(note="=cmd|' /C calc'!A0"), changed(seq_length="8192", source="@SUM(1)")),
        ["Line 2, note: A formula (“=cmd|' /C calc'!A0”)", "Line 3, source: A formula (“@SUM(1)”)"],
        ["第 2 行，note：不接受公式（“=cmd|' /C calc'!A0”）", "第 3 行，source：不接受公式（“@SUM(1)”）"],
    ),
    "100,000 rows": (
        as_csv(*(changed(seq_length=str(number)) for number in range(1, 100_001))),
        ["Line 2002: The file has 100000 rows; at most 2000 are taken at once."],
        ["第 2002 行：文件有 100000 行；一次最多接受 2000 行。"],
    ),
    "other damage": (
        as_csv(changed(devices="6.5"), ROW[:-1], changed(framework="abacus"), changed(strategy="qlora"),
               changed(note="\x00")),
        ["Line 2, devices: “6.5” is no whole number.", "Line 3: There are 7 cells, but 8 columns.",
         "Line 4, framework: Value 'abacus' is not a valid choice.",
         "Line 5, strategy: Value 'qlora' is not a valid choice.",
         "Line 6, note: There is a control character in it.", "Line 6, model, "],
        ["第 2 行，devices：“6.5”不是整数。", "第 3 行：有 7 个单元格，但有 8 列。", "第 4 行，framework：",
         "第 5 行，strategy：", "第 6 行，note：内含控制字符。", "第 6 行，model, "],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_damage_changes_nothing_and_each_problem_is_told_with_its_line(
    admin: Client, unchanged: None, kind: str, language: str
) -> None:
    data, english, chinese = DAMAGE[kind]
    page = upload(admin, data, **{"accept-language": language})
    lines = told(page)
    wanted = english if language == "en" else chinese
    assert len(lines) == len(wanted)
    for line, words in zip(lines, wanted, strict=True):
        assert line.startswith(words)
    assert 'name="confirm"' not in page


def test_a_printed_cell_is_not_imported_as_an_estimate(admin: Client, unchanged: None) -> None:
    page = upload(admin, as_csv((*ROW, "1"), header=(*HEADER, "estimate")))
    assert told(page) == ["Line 2, estimate: Only numbers of our own engine (native) are estimates."]
    assert KEY in current().min_devices


def test_a_byte_order_mark_and_windows_line_ends_are_no_damage(admin: Client) -> None:
    page = upload(admin, b"\xef\xbb\xbf" + as_csv(*TWO, ending="\r\n"))
    assert told(page) == []
    assert MinDevices.objects.filter(edited=True).count() == 0
    confirm(admin, page)
    assert current().min_devices[KEY].devices == 16
    assert MinDevices.objects.filter(edited=True).count() == 2
    newest = MinDevices.objects.filter(edited=True)[0].history.first()
    assert (newest.history_user.username, newest.history_change_reason) == ("chief", "import: table.csv")


@pytest.mark.parametrize("slug", [table.slug for table in TABLES])
@pytest.mark.parametrize("kind", ["0", "1"])
def test_what_was_exported_comes_back_unchanged(admin: Client, unchanged: None, slug: str, kind: str) -> None:
    page = upload(admin, export(admin, slug, kind), slug, kind)
    assert told(page) == []
    assert 'class="update"' not in page
    assert 'class="new"' not in page
    confirm(admin, page, slug)


def test_an_export_runs_nothing_in_a_spreadsheet_and_comes_back_as_it_was(admin: Client, unchanged: None) -> None:
    texts = ["=1+1", "@SUM(A1)", "+7 rows", "-- see below", "'=quoted", "\tindented"]
    rows = list(MinDevices.objects.all()[: len(texts)])
    for row, text in zip(rows, texts, strict=True):
        MinDevices.objects.filter(pk=row.pk).update(note=text)
    exported = export(admin)
    assert "\ufeffmodel" in exported.decode()
    for text in texts:
        assert f",'{text}" in exported.decode()
    page = upload(admin, exported)
    assert told(page) == []
    assert 'class="update"' not in page
    for row in rows:
        MinDevices.objects.filter(pk=row.pk).update(note=row.note)


def test_a_formula_of_a_workbook_is_refused_and_not_what_it_amounts_to(admin: Client, unchanged: None) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(HEADER)
    sheet.append([*ROW[:5], "=4+4", *ROW[6:]])
    file = io.BytesIO()
    book.save(file)
    assert told(upload(admin, file.getvalue(), kind=XLSX)) == [
        "Line 2, devices: A formula (“=4+4”) is not taken; put an apostrophe before text that begins so."
    ]


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b"", "0", "empty"),
        (b"not a workbook", XLSX, "This is no Excel workbook (xlsx)."),
        (b"PK\x03\x04 broken", XLSX, "This is no Excel workbook (xlsx)."),
        (b"PK\x03\x04 broken", "0", "This is an Excel workbook: choose the format xlsx."),
        (",".join(HEADER).encode(), "0", "The file has a header and no rows."),
        (as_csv(ROW).decode().encode("utf-16"), "0", "The file is in UTF-16, not in UTF-8."),
        (b'model,strategy\n"never closed', "0", "Line 2: This is no CSV"),
        (b"\xff\x00\x80", "0", "Line 1: This is not UTF-8."),
    ],
)
def test_what_is_no_table_is_refused_in_words(
    admin: Client, unchanged: None, data: bytes, kind: str, words: str
) -> None:
    assert words in " ".join(told(upload(admin, data, kind=kind)))


def test_many_rows_ask_few_questions_more(admin: Client, django_assert_max_num_queries: Any) -> None:
    rows = [changed(seq_length=str(number)) for number in range(100_000, 100_100)]
    with django_assert_max_num_queries(250):  # a savepoint a row, and nothing else of a row
        page = upload(admin, as_csv(*rows))
    assert page.count('class="new"') == 100


def test_a_line_number_is_that_of_the_file_also_after_a_cell_of_several_lines(admin: Client, unchanged: None) -> None:
    page = upload(admin, as_csv(changed(note="one\ntwo\nthree"), changed(seq_length="8192", devices="many")))
    assert told(page) == ["Line 5, devices: “many” is no whole number."]


def test_an_import_confirmed_after_the_tables_have_changed_is_all_or_nothing(admin: Client) -> None:
    page = upload(admin, as_csv(*TWO, changed(model="smollm2-135m")))
    assert told(page) == []
    from jobs.models import TrainableModel

    TrainableModel.objects.get(name="smollm2-135m").delete()
    answer = confirm(admin, page)
    assert answer.status_code == 302
    assert MinDevices.objects.filter(edited=True).count() == 0
    assert "Nothing was imported" in admin.get(answer.headers["Location"]).content.decode()


def test_a_confirmation_of_a_file_that_is_gone_says_so(admin: Client) -> None:
    page = upload(admin, as_csv(ROW))
    confirm(admin, page)
    again = confirm(admin, page)
    assert again.status_code == 302
    assert "no longer there" in admin.get(again.headers["Location"]).content.decode()
