"""The back office: tables with history, import with a preview, and records that are only looked at."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from jobs.catalog import current
from jobs.models import Job, MinDevices, Node

CELL = {"model": "llama3.1-8b", "strategy": "full", "seq_length": 4096, "framework": "mindspeed-llm"}


@pytest.fixture
def admin(tables: None) -> Client:
    client = Client()
    chief = User.objects.create_superuser("chief")
    client.force_login(chief, backend="django.contrib.auth.backends.ModelBackend")
    return client


def _cell(hardware: str = "snt9b") -> MinDevices:
    return MinDevices.objects.get(**CELL, hardware=hardware)


def _form(row: MinDevices, **changes: object) -> dict[str, object]:
    names = ("model", "strategy", "seq_length", "framework", "hardware", "devices", "suspect", "source", "note")
    return {**{name: getattr(row, name) for name in names}, **changes}


def test_a_changed_row_rules_at_once_is_marked_and_can_be_undone(admin: Client) -> None:
    row = _cell()
    before = row.devices
    address = f"/admin/jobs/mindevices/{row.pk}/"
    assert admin.post(f"{address}change/", _form(row, devices=6)).status_code == 302
    row.refresh_from_db()
    assert (row.devices, row.edited) == (6, True)
    assert current().min_devices[("llama3.1-8b", "full", 4096, "mindspeed-llm", "snt9b")].devices == 6
    history = admin.get(f"{address}history/").content.decode()
    assert "chief" in history
    assert [entry.devices for entry in row.history.all()] == [6, before]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"devices": 0}, "greater than or equal to 1"),
        ({"devices": 3}, "in steps of 2"),
    ],
)
def test_a_wrong_number_is_refused_in_plain_words(admin: Client, changes: dict[str, object], words: str) -> None:
    row = _cell("snt9b23")
    page = admin.post(f"/admin/jobs/mindevices/{row.pk}/change/", _form(row, **changes)).content.decode()
    assert words in page
    assert not MinDevices.objects.get(pk=row.pk).edited


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hardware": "abacus"}, "no row of this name"),
        ({"seq_length": 0}, "greater than or equal to 1"),
        ({"seq_length": 10**30}, "less than or equal to"),
        ({"note": "long " * 7000}, "at most 30000"),
        ({}, "already exists"),
    ],
)
def test_a_wrong_new_row_is_refused_in_plain_words(admin: Client, changes: dict[str, object], words: str) -> None:
    before = MinDevices.objects.count()
    page = admin.post("/admin/jobs/mindevices/add/", _form(_cell("snt9b23"), **changes)).content.decode()
    assert words in page
    assert MinDevices.objects.count() == before


def test_empty_means_unsupported(admin: Client) -> None:
    row = _cell("snt9b23")
    assert admin.post(f"/admin/jobs/mindevices/{row.pk}/change/", _form(row, devices="")).status_code == 302
    assert MinDevices.objects.get(pk=row.pk).devices is None


def _exported(admin: Client) -> list[dict[str, str]]:
    response = admin.post("/admin/jobs/mindevices/export/", {"format": "0", "resource": "0"})
    assert response.headers["Content-Type"] == "text/csv"
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))


def _import(admin: Client, rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    file = SimpleUploadedFile("table.csv", text.getvalue().encode(), "text/csv")
    page = admin.post("/admin/jobs/mindevices/import/", {"format": "0", "resource": "0", "import_file": file})
    return page.content.decode()


def test_an_export_edited_elsewhere_comes_back_with_a_preview(admin: Client) -> None:
    rows = _exported(admin)
    assert len(rows) == MinDevices.objects.count()
    wanted = [row for row in rows if row["model"] == "llama3.1-8b" and row["seq_length"] == "4096"][:2]
    wanted[0]["devices"] = "16"
    preview = _import(admin, wanted)
    assert "Confirm import" in preview
    assert MinDevices.objects.filter(edited=True).count() == 0
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', preview))
    admin.post("/admin/jobs/mindevices/process_import/", {**hidden, "confirm": "Confirm import"})
    changed = MinDevices.objects.get(edited=True)
    assert (changed.devices, changed.history.count()) == (16, 2)


def test_no_cell_of_an_export_is_a_formula(admin: Client) -> None:
    MinDevices.objects.filter(pk=_cell("snt9b23").pk).update(note="=HYPERLINK(1)")
    notes = [row["note"] for row in _exported(admin)]
    assert "'=HYPERLINK(1)" in notes
    assert not any(note.startswith("=") for note in notes)


def test_an_import_is_checked_like_the_form(admin: Client) -> None:
    row = next(row for row in _exported(admin) if row["hardware"] == "snt9b23" and row["devices"])
    row["devices"] = "3"
    preview = _import(admin, [row])
    assert "in steps of 2" in preview
    assert "Confirm import" not in preview


def test_what_the_software_writes_is_only_looked_at(admin: Client) -> None:
    node = Node.objects.get()
    assert admin.get(f"/admin/jobs/node/{node.pk}/change/").status_code == 200
    assert admin.post(f"/admin/jobs/node/{node.pk}/change/", {"name": "x"}).status_code == 403
    for table in ("job", "run", "node", "devicelease", "auditevent"):
        assert admin.get(f"/admin/jobs/{table}/").status_code == 200
        assert admin.get(f"/admin/jobs/{table}/add/").status_code == 403
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "page",
    [
        "",
        "jobs/mindevices/",
        "jobs/mindevices/add/",
        "jobs/mindevices/import/",
        "jobs/mindevices/export/",
        "jobs/mindevices/{pk}/history/",
    ],
)
def test_its_pages_obey_the_policy(admin: Client, page: str) -> None:
    response = admin.get(f"/admin/{page.format(pk=_cell().pk)}")
    assert response.status_code == 200
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    found = re.findall(
        r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>|<style|\sstyle=|\son[a-z]+=|javascript:",
        response.content.decode(),
    )
    assert not found


def test_an_account_that_a_table_names_is_not_deleted_but_another_is(admin: Client) -> None:
    named, other = User.objects.create_user("smith"), User.objects.create_user("jones")
    row = _cell()
    row._history_user = named  # type: ignore[attr-defined]
    row.save_edited()
    page = admin.post(f"/admin/auth/user/{named.pk}/delete/", {"post": "yes"}).content.decode()
    assert "“smith” is named in the history of the resource tables. Deactivate the account instead." in page
    chosen = {"action": "delete_selected", "post": "yes", "_selected_action": [named.pk, other.pk]}
    page = admin.post("/admin/auth/user/", chosen).content.decode()
    assert "“smith” is named" in page
    assert "“jones” is named" not in page
    assert User.objects.filter(pk__in=[named.pk, other.pk]).count() == 2
    assert admin.post(f"/admin/auth/user/{other.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=other.pk).exists()
    assert row.history.first().history_user == named
