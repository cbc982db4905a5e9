"""What fits: each cell says what the check says, and each filled-in form passes it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from engine.catalog import Catalog, load
from engine.planner import Verdict, check
from engine.planner.survey import Cell, of_devices, of_model, unknown
from engine.readable.survey import grid_json, grid_text, shelf_json, shelf_text
from tests.engine.asked import changed, request

CATALOG = load()
DEVICES = {
    "devices.unsupported",
    "devices.too_few",
    "devices.memory",
    "devices.memory_never",
    "devices.step",
    "devices.whole_nodes",
    "devices.one_machine",
    "layout.none",
    "framework.not_for_model",
    "framework.not_on_hardware",
    "seq_length.too_long",
}

REFUSED = {"unsupported": {"devices.unsupported", "framework.not_for_model"}, "never": {"devices.memory_never"}}
"""What the check says of a cell without a number."""


def asked(cell: Cell, devices: int | None = None) -> Verdict:
    wanted: dict[str, Any] = {"train.global_batch_size": None, "train.epochs": None}
    return check(changed(request(), {**wanted, **cell.request(devices)}), CATALOG)


def refused(verdict: Verdict) -> set[str]:
    return {problem.code for problem in verdict.problems if problem.severity == "error"} & DEVICES


def cells_of(model: str, catalog: Catalog = CATALOG) -> list[Cell]:
    return [cell for line in of_model(catalog, model).lines for cell in line.cells]


def test_every_cell_of_the_minimum_table_is_there_and_says_what_the_check_says() -> None:
    found = {
        (cell.model, cell.strategy, cell.seq_length, cell.framework, cell.hardware): cell
        for model in CATALOG.models
        for cell in cells_of(model)
    }
    assert found.keys() >= CATALOG.min_devices.keys()
    for key, row in CATALOG.min_devices.items():
        cell, verdict = found[key], asked(found[key])
        assert cell.need == verdict.devices
        assert cell.need.table == row.devices
        assert cell.state == ("unsupported" if row.devices is None else "printed")


@pytest.mark.parametrize("model", list(CATALOG.models))
def test_a_form_that_a_cell_fills_in_passes_the_check_or_says_why_not(model: str) -> None:
    for cell in cells_of(model):
        assert refused(asked(cell)) <= REFUSED.get(cell.state, set()), cell
        assert bool(refused(asked(cell))) == (cell.state in REFUSED), cell
        if cell.least is not None and cell.framework != "native":
            assert refused(asked(cell, cell.least)) == set(), cell


@pytest.mark.parametrize(("hardware", "devices"), [("snt9b", 8), ("snt9b23", 32), ("snt9b", 64), ("cpu", 2)])
def test_what_stands_on_the_shelf_passes_the_check_and_the_next_length_does_not(hardware: str, devices: int) -> None:
    shelf = of_devices(CATALOG, hardware, devices)
    assert shelf.rows
    for row in shelf.rows:
        for cell in filter(None, row.cells):
            assert refused(asked(cell, devices)) == set(), cell
            longer = [other for other in cells_of(row.model) if same_way(other, cell)]
            after = next((other for other in longer if other.seq_length > cell.seq_length), None)
            if after is not None and cell.framework != "native":
                assert refused(asked(after, devices)), after


def same_way(one: Cell, other: Cell) -> bool:
    way = ("framework", "hardware", "strategy")
    return all(getattr(one, name) == getattr(other, name) for name in way)


def test_a_model_that_is_not_on_the_shelf_is_refused_at_its_shortest_length() -> None:
    there = {row.model for row in of_devices(CATALOG, "snt9b", 8).rows}
    assert "llama3.1-70b" not in there
    for model in CATALOG.models.keys() - there:
        for cell in cells_of(model):
            if cell.hardware == "snt9b" and cell.seq_length == min(one.seq_length for one in cells_of(model)):
                assert refused(asked(cell, 8)), cell


def test_a_number_that_the_hardware_does_not_give_out_is_said() -> None:
    assert [problem.code for problem in of_devices(CATALOG, "snt9b23", 3).problems] == ["devices.step"]
    assert [problem.code for problem in of_devices(CATALOG, "snt9b", 12).problems] == ["devices.whole_nodes"]
    assert [problem.code for problem in of_devices(CATALOG, "cpu", 65).problems] == ["devices.one_machine"]
    assert of_devices(CATALOG, "cuda", 8).rows == ()  # its memory is not in the table
    assert [problem.code for problem in of_devices(CATALOG, "snt9b", 70_000).problems] == ["shape.too_large"]


def test_names_that_nobody_knows_get_the_checks_own_finding() -> None:
    wrong_model, wrong_hardware = unknown(CATALOG, model="lama3-8b"), unknown(CATALOG, hardware="snt9c")
    assert wrong_model is not None
    assert wrong_model.nearest == {"model": "llama3-8b"}
    assert wrong_hardware is not None
    assert wrong_hardware.code == "hardware.unknown"
    assert unknown(CATALOG, model="llama3-8b", hardware="snt9b") is None


def test_a_row_with_a_length_that_no_request_can_have_spoils_no_look_up() -> None:
    row = next(iter(CATALOG.min_devices.values()))
    odd = [replace(row, seq_length=length) for length in (1, 99_999_999)]
    model = replace(CATALOG.models["qwen2-7b"], max_position_embeddings=4)
    catalog = replace(
        CATALOG,
        min_devices={**CATALOG.min_devices, **{one.key: one for one in odd}},
        models={**CATALOG.models, model.name: model},
    )
    assert of_model(catalog, row.model).lengths == of_model(CATALOG, row.model).lengths
    assert of_model(catalog, model.name).lengths == (4096, 8192)  # those that are printed
    assert of_devices(catalog, "snt9b", 8).rows


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 1000])
def test_a_name_that_no_request_can_hold_is_not_known(name: str) -> None:
    wrong_model, wrong_hardware = unknown(CATALOG, model=name), unknown(CATALOG, hardware=name)
    assert wrong_model is not None
    assert wrong_model.code == "model.unknown"
    assert wrong_hardware is not None
    assert wrong_hardware.code == "hardware.unknown"


def test_the_whole_grid_is_quick_even_the_first_time() -> None:
    start = time.process_time()
    for model in CATALOG.models:
        of_model(CATALOG, model)
    assert (time.process_time() - start) / len(CATALOG.models) < 0.2


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_terminal_and_a_program_can_read_it(language: str) -> None:
    grid, shelf = of_model(CATALOG, "qwen2-7b"), of_devices(CATALOG, "snt9b", 8)
    assert "1? (4/8)" in grid_text(grid, language)
    assert "llama3.1-8b" in shelf_text(shelf, language)
    swapped = [cell for cell in grid_json(grid, language)["cells"] if cell["devices"]["suspect"]]
    assert {cell["devices"]["table"] for cell in swapped} == {1, 2, 4, 8}
    assert all(cell["least"] is not None for cell in shelf_json(shelf, language)["trainable"])
