"""An import of a resource table: damage changes nothing and is listed line by line, in the reader's language."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.catalog import load
from jobs.catalog import current
from jobs.models import MinDevices
from jobs.seed import load_tables
from jobs.table_values import TABLES
from tests.webui.tables_in_admin import (
    HEADER,
    ROW,
    XLSX,
    as_csv,
    changed,
    confirm,
    export,
    hidden,
    remarks,
    told,
    totals,
    upload,
)

CHANGED_KEY = "llama3.1-8b,full,5000,mindspeed-llm,snt9b,"
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
        (b'"never closed', "0", "Line 1: This is no CSV"),
        (b"\x00\xff" * 50, "0", "Line 1: This is not UTF-8."),
        (b"\xff\x00\x80", "0", "Line 1: This is not UTF-8."),
    ],
)
def test_what_is_no_table_is_refused_in_words(
    admin: Client, unchanged: None, data: bytes, kind: str, words: str
) -> None:
    assert words in " ".join(told(upload(admin, data, kind=kind)))


def test_under_a_wrong_header_and_in_another_encoding_the_cells_are_judged_all_the_same(
    admin: Client, unchanged: None
) -> None:
    rows = (changed(devices="many", note="由同事测得"), changed(seq_length="-1"), changed(framework="abacus"))
    data = as_csv(*rows, header=("modell", *HEADER[1:])).decode().encode("gbk")
    lines = told(upload(admin, data))
    begins = [
        "Line 2: The file is in GBK",
        "Line 1: There is no column “modell”",
        "Line 1, model: This column is",
        "Line 2, devices: “many” is no whole",
        "Line 3, seq_length: Ensure",
        "Line 4, framework: Value 'abacus'",
    ]
    assert len(lines) == len(begins)
    for line, words in zip(lines, begins, strict=True):
        assert line.startswith(words)


def test_semicolons_and_a_torn_end_hide_no_fault_of_the_rows(admin: Client, unchanged: None) -> None:
    text = as_csv(changed(devices="many"), TWO[1]).decode().replace(",", ";") + 'llama3.1-8b;"never closed'
    lines = told(upload(admin, text.encode()))
    begins = ["Line 1: The columns are separated by “;”", "Line 4: This is no CSV", "Line 2, devices: “many”"]
    assert [line[: len(words)] for line, words in zip(lines, begins, strict=True)] == begins


def test_the_first_rows_of_too_many_are_judged(admin: Client, unchanged: None) -> None:
    rows = [changed(seq_length=str(number)) for number in range(1, 3_000)]
    rows[7] = changed(seq_length="8", devices="many")
    assert told(upload(admin, as_csv(*rows))) == [
        "Line 2002: The file has 2999 rows; at most 2000 are taken at once.",
        "Line 9, devices: “many” is no whole number.",
    ]


def test_numbers_as_other_programs_spell_them(admin: Client) -> None:
    page = upload(admin, as_csv(changed(devices="８"), changed(seq_length="8192.0", devices="\xa08 ")))
    assert told(page) == []
    confirm(admin, page)
    assert [current().min_devices[(*KEY[:2], length, *KEY[3:])].devices for length in (4096, 8192)] == [8, 8]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"devices": "1 6"}, "devices: “1 6” is no whole number."),
        ({"devices": "8²"}, "devices: “8²” is no whole number."),
        ({"devices": "1,024"}, "devices: “1,024” is no whole number."),
        ({"devices": "1_6"}, "devices: “1_6” is no whole number."),
        ({"devices": "9" * 5000}, "is no whole number."),
        ({"devices": "9" * 30}, "Ensure this value is less than or equal to"),
        ({"model": "llama3.1\u200b-8b"}, "model: There is an invisible character in it (U+200B)."),
        ({"model": "llama3.1\xa08b"}, "model: There is an invisible character in it (U+00A0)."),
        ({"note": "+1+1"}, "note: A formula (“+1+1”) is not taken"),
        ({"note": "-1+1"}, "note: A formula (“-1+1”) is not taken"),
        ({"note": "＝1+1"}, "note: A formula (“＝1+1”) is not taken"),
        ({"devices": "=1+1"}, "devices: A formula (“=1+1”) is not taken"),
        ({"note": "long " * 7000}, "note: It has 35000 characters; at most 30000 are kept."),
    ],
)
def test_a_cell_that_is_not_what_it_seems_is_refused(
    admin: Client, unchanged: None, cells: dict[str, str], words: str
) -> None:
    lines = told(upload(admin, as_csv(changed(**cells))))
    assert words in lines[0]


def test_a_changed_key_is_a_new_row_and_the_preview_says_what_becomes_of_the_old_one(admin: Client) -> None:
    data = (
        export(admin)
        .decode()
        .replace("llama3.1-8b,full,4096,mindspeed-llm,snt9b,", "llama3.1-8b,full,5000,mindspeed-llm,snt9b,")
    )
    page = upload(admin, data.encode())
    assert remarks(page) == [
        "New rows: 1. Rows of the table that the file lacks: 1. A row is known by its model, strategy, seq_length, "
        "framework, hardware: where you have changed one of these, the old row stays beside the new one."
    ]
    count = MinDevices.objects.count()
    assert totals(page) == [1, 0, 0, count - 1]
    confirm(admin, page)
    assert KEY in current().min_devices
    assert MinDevices.objects.count() == count + 1


def test_a_whole_table_removes_what_it_lacks_and_loading_does_not_bring_it_back(admin: Client) -> None:
    data = (
        export(admin)
        .decode()
        .replace("llama3.1-8b,full,4096,mindspeed-llm,snt9b,", "llama3.1-8b,full,5000,mindspeed-llm,snt9b,")
    )
    page = upload(admin, data.encode(), whole=True)
    assert remarks(page) == ["Rows of the table that the file lacks, which will be removed: 1."]
    count = MinDevices.objects.count()
    assert totals(page) == [1, 0, 1, count - 1]
    assert page.count('class="delete"') == 1
    assert KEY in current().min_devices
    confirm(admin, page)
    assert KEY not in current().min_devices
    assert current().min_devices[(*KEY[:2], 5000, *KEY[3:])].devices == 4
    gone = MinDevices.history.filter(history_type="-").get()  # type: ignore[attr-defined]
    assert (gone.history_user.username, gone.history_change_reason) == ("chief", "import: table.csv")
    load_tables(load())
    assert KEY not in current().min_devices


@pytest.mark.parametrize(
    ("slug", "cells"),
    [
        ("parallelconfig", {"model": "new-1b", "seq_length": "4096", "tensor_parallel_size": "3",
                            "pipeline_parallel_size": "1", "nodes": "1", "cards_per_node": "3"}),
        ("accumulation", {"model": "new-1b", "strategy": "full", "seq_length": "4096", "source": "x", "nodes": "1",
                          "cards_per_node": "8"}),
        ("inferencelimit", {"model": "new-1b", "memory_gib": "64", "version": "x"}),
        ("quantization", {"model": "new-1b", "method": "W8A8", "version": "x"}),
    ],
)  # fmt: skip
def test_a_model_that_only_a_page_names_is_taken_with_a_remark(admin: Client, slug: str, cells: dict[str, str]) -> None:
    page = upload(admin, as_csv(tuple(cells.values()), header=tuple(cells)), slug)
    assert told(page) == []
    assert remarks(page)[0] == "Line 2, model: The model table has no row “new-1b”."
    confirm(admin, page, slug)
    table = next(table for table in TABLES if table.slug == slug)
    assert table.model._default_manager.filter(model="new-1b", edited=True).count() == 1


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
    assert MinDevices.objects.filter(edited=True).count() == 1


def test_of_two_people_who_import_at_once_the_second_looks_again(admin: Client) -> None:
    first, second = upload(admin, as_csv(changed(devices="8"))), upload(admin, as_csv(changed(devices="16")))
    confirm(admin, first)
    answer = confirm(admin, second)
    assert "the tables have changed meanwhile" in admin.get(answer.headers["Location"]).content.decode()
    assert current().min_devices[KEY].devices == 8


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "x"},
        {"format": "7"},
        {"format": ""},
        {"format": XLSX},
        {"import_file_name": "../../etc/passwd"},
        {"import_file_name": "0" * 32},
        {"resource": "9", "seen": ""},
        {"seen": "0.0"},
    ],
)
def test_a_confirmation_that_was_made_up_changes_nothing(
    admin: Client, unchanged: None, changes: dict[str, str]
) -> None:
    page = upload(admin, as_csv(changed(devices="8")))
    assert "seen" in hidden(page)
    assert confirm(admin, page, **changes).status_code == 302


def test_a_file_waits_in_the_data_folder_and_goes_when_it_has_been_taken(admin: Client, data_dir: Path) -> None:
    page = upload(admin, as_csv(ROW))
    waiting = data_dir / "imports" / hidden(page)["import_file_name"]
    assert waiting.read_bytes() == as_csv(ROW)
    old = waiting.with_name("f" * 32)
    old.write_bytes(b"forgotten")
    os.utime(old, (0, 0))
    upload(admin, as_csv(ROW))
    assert not old.exists()
    confirm(admin, page)
    assert not waiting.exists()
