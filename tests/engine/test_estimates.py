"""Cells of the minimum-device table that no page prints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.catalog import load
from engine.planner import check
from engine.planner.estimates import estimated_rows, with_estimates
from tests.engine.asked import request

CATALOG = load()
WITH = with_estimates(CATALOG)
ROWS = list(WITH.estimates.values())


def test_an_estimate_is_marked_and_obeys_the_hardware() -> None:
    assert len(ROWS) > 100
    for row in ROWS:
        hardware = CATALOG.hardware[row.hardware]
        assert (row.estimate, row.source, row.framework) == (True, "estimate", "native")
        assert row.devices is not None
        assert row.devices % hardware.device_step == 0
        assert row.devices <= hardware.devices_per_node
        assert row.key not in CATALOG.min_devices


def test_longer_sequences_and_full_training_never_need_fewer() -> None:
    found = {row.key: row.devices or 0 for row in ROWS}
    compared = 0
    for model, strategy, length, framework, hardware in found:
        number = found[(model, strategy, length, framework, hardware)]
        lora = found.get((model, "lora", length, framework, hardware))
        if strategy == "full" and lora is not None:
            assert lora <= number
            compared += 1
        for (other, kind, longer, _, board), more in found.items():
            if (other, kind, board) == (model, strategy, hardware) and longer > length:
                assert more >= number
                compared += 1
    assert compared > 100


def test_by_hand_seven_billion_parameters_in_full_need_more_than_one_device_of_64_gib() -> None:
    """16 bytes a parameter are 100 GiB before any activation."""
    found = {row.key: row.devices for row in ROWS}
    number = found[("llama2-7b", "full", 4096, "native", "snt9b")]
    assert number is not None
    assert number >= 2
    assert found[("llama2-7b", "lora", 4096, "native", "snt9b")] == 1


def test_an_estimate_stands_beside_and_is_no_printed_number() -> None:
    spec = request(model="llama2-7b", framework="native", hardware="snt9b", devices=1)
    plain, estimated = check(spec, CATALOG), check(spec, WITH)
    assert estimated.devices.estimate is not None
    assert (estimated.devices.table, estimated.devices.unsupported, plain.devices.estimate) == (None, False, None)
    assert estimated.problems == plain.problems
    assert estimated.to_json()["devices"]["estimate"] == estimated.devices.estimate
    assert "estimate" not in plain.to_json()["devices"]


def test_a_printed_number_has_no_estimate_beside_it() -> None:
    spec = request()
    key = ("llama3.1-8b", "full", 4096, "mindspeed-llm", "snt9b")
    both = replace(CATALOG, estimates={key: replace(CATALOG.min_devices[key], devices=2, estimate=True)})
    found = check(spec, both).devices
    assert (found.table, found.estimate) == (4, None)


@pytest.mark.parametrize("hardware", ["snt9b", "snt9b23", "cuda"])
def test_unknown_memory_gives_no_estimate(hardware: str) -> None:
    board = replace(CATALOG.hardware[hardware], memory_gib=None)
    rows = estimated_rows(replace(CATALOG, hardware={hardware: board}), [4096])
    assert list(rows) == []
