"""Rows of the resource tables in the back office: what names a row stays, and what was deleted can come back."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.forms import model_to_dict
from django.test import Client

from engine.catalog import load
from jobs.catalog import current
from jobs.models import Accumulation, Hardware, MinDevices, Quantization, TrainableModel
from jobs.seed import load_tables
from jobs.table_values import TABLES
from tests.webui.tables_in_admin import hidden
from webui.tables.shown import SHOWN

KEY = ("llama3.1-8b", "full", 4096, "mindspeed-llm", "snt9b")
LIST = "/admin/jobs/mindevices/"


@pytest.fixture
def admin(tables: None, as_user: Callable[[User], Client]) -> Client:
    return as_user(User.objects.create_superuser("chief"))


def cell() -> MinDevices:
    names = ("model", "strategy", "seq_length", "framework", "hardware")
    return MinDevices.objects.get(**dict(zip(names, KEY, strict=True)))


def form_of(row: MinDevices, **changes: object) -> dict[str, object]:
    return {**model_to_dict(row, exclude=["id"]), **changes}


@pytest.mark.parametrize("slug", [table.slug for table in TABLES])
def test_what_names_a_row_cannot_be_changed_and_is_asked_of_a_new_one(admin: Client, slug: str) -> None:
    table = next(table for table in TABLES if table.slug == slug)
    row = table.model._default_manager.all()[0]
    page = admin.get(f"/admin/jobs/{slug}/{row.pk}/change/").content.decode()
    new = admin.get(f"/admin/jobs/{slug}/add/").content.decode()
    for name in table.key:
        assert f'name="{name}"' not in page
        assert f'name="{name}"' in new
        assert name not in SHOWN[table.model].editable


def test_a_key_in_a_made_up_form_changes_nothing(admin: Client) -> None:
    row = cell()
    assert admin.post(f"{LIST}{row.pk}/change/", form_of(row, seq_length=5000, devices=6)).status_code == 302
    row.refresh_from_db()
    assert (row.seq_length, row.devices) == (4096, 6)
    load_tables(load())
    assert len([row for row in current().min_devices.values() if row.seq_length == 5000]) == 0


def test_one_column_of_many_is_never_the_key(admin: Client) -> None:
    chosen = {"action": "change_selected", "_selected_action": [cell().pk]}
    page = admin.post(LIST, {**chosen, "apply": "1", "column": "model", "value": "qwen2-7b"}).content.decode()
    assert "model is not one of the available choices" in page
    assert not MinDevices.objects.filter(edited=True).exists()


def test_saving_without_a_change_makes_no_row_an_edited_one(admin: Client) -> None:
    for row in (cell(), TrainableModel.objects.get(name="llama3.1-8b"), Hardware.objects.get(name="snt9b")):
        page = admin.get(f"/admin/jobs/{row._meta.model_name}/{row.pk}/change/").content.decode()
        values = {name: value for name, value in hidden(page).items() if name != "csrfmiddlewaretoken"}
        form = {name: value for name, value in model_to_dict(row).items() if value not in (None, False)}
        assert admin.post(f"/admin/jobs/{row._meta.model_name}/{row.pk}/change/", values | form).status_code == 302
        row.refresh_from_db()
        assert (row.edited, row.history.count()) == (False, 1)


def test_another_row_like_this_begins_with_its_values_and_not_with_its_source(admin: Client) -> None:
    row = MinDevices.objects.filter(suspect="suspect.swapped", strategy="lora")[0]
    assert f'href="{LIST}add/?like={row.pk}"' in admin.get(f"{LIST}{row.pk}/change/").content.decode()
    page = admin.get(f"{LIST}add/?like={row.pk}").content.decode()
    assert f'name="seq_length" value="{row.seq_length}"' in page
    assert f'<option value="{row.framework}" selected>' in page
    assert row.suspect not in page
    assert row.source not in page
    assert admin.get(f"{LIST}add/?like=abc").status_code == 200
    model = TrainableModel.objects.get(name="llama3.1-8b")
    other = admin.get(f"/admin/jobs/trainablemodel/add/?like={model.pk}").content.decode()
    assert len(re.findall(r'<input type="checkbox" name="frameworks"[^>]*checked', other)) == len(model.frameworks)


def test_a_row_of_an_unknown_model_is_taken_and_said_so(admin: Client) -> None:
    answer = admin.post(
        "/admin/jobs/quantization/add/", {"model": "new-1b", "method": "W8A8", "supported": "yes"}, follow=True
    )
    assert "The model table has no row “new-1b”." in answer.content.decode()
    assert Quantization.objects.get(model="new-1b").edited


def test_no_node_has_more_than_sixteen_cards(admin: Client) -> None:
    row = Accumulation.objects.all()[0]
    form = {name: value for name, value in model_to_dict(row).items() if value is not None}
    page = admin.post(f"/admin/jobs/accumulation/{row.pk}/change/", {**form, "cards_per_node": 17}).content.decode()
    assert "A node has at most 16 cards." in page


def delete(admin: Client, row: MinDevices) -> None:
    assert admin.post(f"{LIST}{row.pk}/delete/", {"post": "yes"}).status_code == 302


def test_a_deleted_row_is_listed_with_a_name_and_comes_back_as_it_was(admin: Client) -> None:
    row = cell()
    delete(admin, row)
    assert KEY not in current().min_devices
    assert f'href="{LIST}deleted/"' in admin.get(LIST).content.decode()
    page = admin.get(f"{LIST}deleted/").content.decode()
    assert "<td>chief</td>" in page
    assert f'href="{LIST}{row.pk}/history/">{row}</a>' in page
    assert admin.get(f"{LIST}{row.pk}/history/").status_code == 200
    answer = admin.post(f"{LIST}deleted/", {"record": hidden(page)["record"]}, follow=True)
    assert "is back." in answer.content.decode()
    assert "No row has been deleted." in answer.content.decode()
    back = cell()
    assert (back.pk, back.devices, back.edited) == (row.pk, row.devices, False)
    assert [entry.history_type for entry in back.history.all()] == ["+", "-", "+"]
    assert back.history.first().history_user.username == "chief"
    assert load_tables(load()) == []
    again = admin.post(f"{LIST}deleted/", {"record": hidden(page)["record"]}, follow=True)
    assert "already" in again.content.decode()


def test_a_row_that_would_be_wrong_by_now_does_not_come_back(admin: Client) -> None:
    delete(admin, cell())
    page = admin.get(f"{LIST}deleted/").content.decode()
    TrainableModel.objects.get(name=KEY[0]).delete()
    answer = admin.post(f"{LIST}deleted/", {"record": hidden(page)["record"]}, follow=True)
    assert "The model table has no row of this name." in answer.content.decode()
    assert KEY not in current().min_devices


@pytest.mark.parametrize("record", ["", "x", "0", "99999999999999999999999"])
def test_a_made_up_record_is_not_found(admin: Client, record: str) -> None:
    assert admin.post(f"{LIST}deleted/", {"record": record}).status_code == 404


def test_estimates_that_no_longer_fit_are_not_listed_as_deleted(admin: Client) -> None:
    board = Hardware.objects.get(name="snt9b")
    admin.post(f"/admin/jobs/hardware/{board.pk}/change/", {**model_to_dict(board), "memory_gib": 24})
    assert MinDevices.history.filter(history_type="-").exists()  # type: ignore[attr-defined]
    assert "No row has been deleted." in admin.get(f"{LIST}deleted/").content.decode()


def test_a_deleted_row_whose_place_is_taken_is_not_reverted(admin: Client) -> None:
    row = cell()
    oldest = row.history.last()
    delete(admin, row)
    assert admin.post(f"{LIST}add/", form_of(row, devices=8, source="ours")).status_code == 302
    address = f"{LIST}{row.pk}/history/{oldest.history_id}/"
    answer = admin.post(address, form_of(row), follow=True)
    assert "There is another row of the same" in answer.content.decode()
    assert cell().devices == 8


def test_a_revert_says_so_in_the_history(admin: Client) -> None:
    row = cell()
    admin.post(f"{LIST}{row.pk}/change/", form_of(row, devices=6))
    oldest = row.history.last()
    assert admin.post(f"{LIST}{row.pk}/history/{oldest.history_id}/", form_of(row)).status_code == 302
    assert cell().devices == row.devices
    assert [entry.history_change_reason for entry in row.history.all()] == ["revert", "devices", "load_tables"]


def test_all_rows_of_a_filter_are_changed_at_once(admin: Client) -> None:
    query = f"{LIST}?framework=native"
    rows = MinDevices.objects.filter(framework="native")
    chosen = {"action": "change_selected", "_selected_action": [rows[0].pk], "select_across": "1"}
    page = admin.post(query, chosen).content.decode()
    assert 'name="select_across" value="1"' in page
    assert page.count('name="_selected_action"') == 1  # a form of a thousand fields is refused
    values = {**hidden(page), "apply": "1", "column": "note", "value": "looked at"}
    assert admin.post(query, values).status_code == 302
    assert set(rows.values_list("note", flat=True)) == {"looked at"}
    assert not MinDevices.objects.filter(note="looked at").exclude(framework="native").exists()
