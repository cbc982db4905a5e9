"""A length without a row needs no fewer devices than a shorter one that is printed."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalog import MinDevicesRow, load
from engine.planner import Verdict, check

PRINTED = [row for row in load().min_devices.values() if row.devices and not row.suspect and row.hardware == "snt9b"]


def _checked(row: MinDevicesRow, seq_length: int, devices: int) -> Verdict:
    train: dict[str, Any] = {
        "stage": "sft",
        "strategy": row.strategy,
        "dataset": {"path": "data/rows.json", "format": "alpaca"},
        "seq_length": seq_length,
        "micro_batch_size": 1,
    }
    request = {"name": "longer", "model": row.model, "model_path": "models/m", "framework": row.framework}
    return check({**request, "hardware": row.hardware, "devices": devices, "train": train}, load())


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: f"{row.model}-{row.strategy}-{row.seq_length}-{row.framework}")
@pytest.mark.parametrize("more", [1, 100])
def test_what_a_printed_row_refuses_no_longer_length_accepts(row: MinDevicesRow, more: int) -> None:
    fewer = max(1, (row.devices or 0) // 2)
    accepted_shorter = _checked(row, row.seq_length, fewer).fits
    assert accepted_shorter or not _checked(row, row.seq_length + more, fewer).fits


def test_it_names_the_shorter_row_and_the_devices_that_do() -> None:
    row = load().min_devices[("llama3.1-70b", "full", 8192, "mindspeed-llm", "snt9b")]
    verdict = _checked(row, 16384, 32)
    [problem] = [problem for problem in verdict.problems if problem.code == "devices.too_few_for_shorter"]
    assert (problem.parameters["shorter"], problem.nearest) == (8192, {"devices": 64})
    assert verdict.devices.table is None
    assert _checked(row, 16384, 64).fits
