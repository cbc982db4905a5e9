from __future__ import annotations

import csv
import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.forms import model_to_dict
from pytest_django import DjangoAssertNumQueries

from engine.catalog import TABLES, load
from jobs.catalog import current
from jobs.models import Hardware, MinDevices, TrainableModel
from jobs.seed import BY_US, load_tables, refresh_estimates
from jobs.table_values import TABLES as ROWS

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A release's tables, to be changed."""
    return Path(shutil.copytree(TABLES, tmp_path / "tables"))


def change(folder: Path, table: str, row: int, **cells: str) -> None:
    path = folder / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows[row] |= cells
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def loaded(*arguments: str) -> str:
    out = StringIO()
    call_command("load_tables", *arguments, stdout=out)
    return out.getvalue()


def test_the_database_gives_the_same_catalog_as_the_files() -> None:
    load_tables(load())
    assert replace(current(), estimates={}) == load()


def test_every_table_is_there_and_every_row_obeys_its_rules() -> None:
    load_tables(load())
    counts = {table.slug: table.model._default_manager.count() for table in ROWS}
    estimates = MinDevices.objects.filter(estimate=True).count()
    assert counts["mindevices"] - estimates == 312
    counted = ("trainablemodel", "parallelconfig", "accumulation", "inferencelimit", "quantization")
    assert [counts[name] for name in counted] == [41, 49, 131, 67, 191]
    for table in ROWS:
        for row in table.model._default_manager.all():
            row.clean_fields()
            row.clean()


def test_loading_again_changes_nothing() -> None:
    first = loaded()
    assert "0 changed, 0 removed, 0 kept as edited" in first
    assert loaded() == "0 rows added, 0 changed, 0 removed, 0 kept as edited\n"
    assert MinDevices.history.count() == MinDevices.objects.count()  # type: ignore[attr-defined]


def test_a_dry_run_shows_the_change_and_makes_none(folder: Path) -> None:
    load_tables(load())
    change(folder, "hardware", 0, memory_gib="32")
    out = loaded("--folder", str(folder), "--dry-run")
    assert "change hardware snt9b memory_gib: 64.0 → 32" in out
    assert Hardware.objects.get(name="snt9b").memory_gib == 64


def test_a_changed_release_changes_the_row(folder: Path) -> None:
    load_tables(load())
    change(folder, "hardware", 0, memory_gib="32")
    loaded("--folder", str(folder))
    assert Hardware.objects.get(name="snt9b").memory_gib == 32


def test_an_edited_row_is_kept_and_shown_unless_overwriting_is_asked_for(folder: Path) -> None:
    load_tables(load())
    row = Hardware.objects.get(name="snt9b")
    row.memory_gib = 48
    row.save_edited()
    assert "keep hardware snt9b (edited here; kept) memory_gib: 48.0 → 64" in loaded()
    row.refresh_from_db()
    assert row.memory_gib == 48
    loaded("--overwrite")
    row.refresh_from_db()
    assert (row.memory_gib, row.edited) == (64, False)


def test_a_number_that_is_none_is_refused_with_its_place(folder: Path) -> None:
    change(folder, "min_cards", 2, cards="many")
    with pytest.raises(CommandError, match=r"min_cards\.csv:4.*'many'"):
        loaded("--folder", str(folder))
    assert Hardware.objects.count() == 0


def test_an_edit_changes_the_next_check(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    load_tables(load())
    before = current()
    with django_assert_num_queries(1):
        assert current() is before
    row = MinDevices.objects.filter(devices__isnull=False)[0]
    row.devices = 99
    row.save_edited()
    key = (row.model, row.strategy, row.seq_length, row.framework, row.hardware)
    assert current().min_devices[key].devices == 99
    TrainableModel.objects.get(name="llama2-7b").delete()
    assert "llama2-7b" not in current().models


def test_an_edited_layer_count_changes_memory_in_the_next_check() -> None:
    load_tables(load())
    row = TrainableModel.objects.get(name="llama2-7b")
    row.num_hidden_layers = 16
    row.save_edited()
    now = current()
    assert now.architectures["llama2-7b"] == replace(load().architectures["llama2-7b"], num_hidden_layers=16)
    assert now.models["llama2-7b"].num_hidden_layers == 16


def test_a_row_that_a_person_deleted_stays_away_unless_overwriting_is_asked_for(django_user_model: Any) -> None:
    load_tables(load())
    row = Hardware.objects.get(name="cuda")
    row._history_user = django_user_model.objects.create(username="chief")  # type: ignore[attr-defined]
    row.delete()
    assert "keep hardware cuda (deleted here; kept)" in loaded()
    assert "cuda" not in current().hardware
    loaded("--overwrite")
    assert "cuda" in current().hardware


def test_a_deleted_row_stays_away_when_the_account_that_deleted_it_is_removed(django_user_model: Any) -> None:
    load_tables(load())
    chief = django_user_model.objects.create(username="chief")
    row = Hardware.objects.get(name="cuda")
    row._history_user = chief  # type: ignore[attr-defined]
    row.delete()
    chief.delete()
    assert "keep hardware cuda (deleted here; kept)" in loaded()
    assert "cuda" not in current().hardware


def test_what_loading_adds_says_so_in_its_history() -> None:
    load_tables(load())
    reasons = {entry.history_change_reason for table in ROWS for entry in table.history._default_manager.all()}
    assert reasons == {BY_US}


def test_our_own_engine_gets_estimates_that_are_no_printed_numbers() -> None:
    load_tables(load())
    now = current()
    assert {row.source for row in now.estimates.values()} == {"estimate"}
    assert {row.framework for row in now.estimates.values()} == {"native"}
    assert {row.hardware for row in now.estimates.values()} == {"snt9b", "snt9b23"}  # memory of cuda is not known
    assert not any(row.framework == "native" for row in now.min_devices.values())


def test_an_edited_memory_changes_the_estimates_of_the_next_loading_but_no_edited_one() -> None:
    load_tables(load())
    edited = MinDevices.objects.filter(estimate=True, hardware="snt9b")[0]
    edited.devices = 5
    edited.save_edited()
    hardware = Hardware.objects.get(name="snt9b")
    hardware.memory_gib = 24
    hardware.save_edited()
    cuda = Hardware.objects.get(name="cuda")
    cuda.memory_gib = 80
    cuda.save_edited()
    before = set(current().estimates)
    out = loaded()
    after = current().estimates
    assert "remove mindevices" in out
    assert before - set(after)  # what no longer fits on a smaller device
    assert any(row.hardware == "cuda" for row in after.values())
    edited.refresh_from_db()
    assert edited.devices == 5
    assert "0 rows added, 0 changed, 0 removed" in loaded()


def test_loading_asks_few_questions_of_the_database(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_max_num_queries(80):
        load_tables(load())


def test_a_length_that_a_person_adds_brings_no_estimates_of_every_model() -> None:
    load_tables(load())
    before = current().estimates
    row = MinDevices.objects.get(
        model="llama3.1-8b", strategy="full", seq_length=4096, framework="mindspeed-llm", hardware="snt9b"
    )
    MinDevices(**{**model_to_dict(row, exclude=["id"]), "seq_length": 5000}).save_edited()
    assert refresh_estimates() == []
    load_tables(load())
    assert current().estimates == before


def test_editing_every_row_of_a_length_leaves_its_estimates() -> None:
    load_tables(load())
    before = current().estimates
    for row in MinDevices.objects.filter(seq_length=4096, estimate=False):
        row.save_edited()
    refresh_estimates()
    assert current().estimates == before
