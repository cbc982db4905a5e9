"""The memory model against what the vendor prints: how often the two agree, and where they must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.catalog import MinDevicesRow
from engine.plan import Layout
from engine.planner import check
from engine.planner.fitting import need
from engine.planner.layouts import legal, tensor_sizes
from engine.planner.memory import estimate
from engine.spec import LayoutRequest
from tests.engine.asked import request
from tests.engine.memory_questions import (
    CATALOG,
    longest_of_cell,
    need_of,
    numeric_cells,
    published,
    setting,
    steps,
)


def agreement(among: Callable[[MinDevicesRow], bool]) -> tuple[float, float]:
    """Shares of cells whose recommended number is the printed one, and at most one doubling from it."""
    pairs = [
        (need_of(cell, longest_of_cell(cell)).recommended or 10**9, cell.devices or 0)
        for cell in numeric_cells()
        if among(cell)
    ]
    exact = sum(ours == printed for ours, printed in pairs)
    near = sum(steps(ours, printed) <= 1 for ours, printed in pairs)
    return exact / len(pairs), near / len(pairs)


def test_recommended_numbers_agree_with_the_table() -> None:
    exact, near = agreement(lambda cell: True)
    assert exact >= 0.60
    assert near >= 0.88


def test_recommended_numbers_of_full_training_with_mindspeed_agree() -> None:
    exact, near = agreement(lambda cell: cell.framework == "mindspeed-llm" and cell.strategy == "full")
    assert exact >= 0.85
    assert near == 1.0


def test_recommended_numbers_of_full_training_with_llama_factory_agree() -> None:
    exact, near = agreement(
        lambda cell: cell.framework == "llama-factory" and cell.strategy == "full" and cell.model != "qwen2-7b"
    )
    assert exact >= 0.70
    assert near == 1.0


def test_recommended_numbers_of_lora_agree() -> None:
    _, near = agreement(lambda cell: cell.strategy == "lora")
    assert near >= 0.80


def test_no_printed_number_is_below_the_floor_but_the_ten_doubted_ones() -> None:
    below = [cell for cell in numeric_cells() if (cell.devices or 0) < (need_of(cell, cell.seq_length).floor or 10**9)]
    assert len(below) == 10
    assert all(cell.suspect for cell in below)


def test_floors_agree_with_the_table() -> None:
    floors = [(need_of(cell, cell.seq_length).floor or 10**9, cell.devices or 0) for cell in numeric_cells()]
    assert sum(ours == printed for ours, printed in floors) >= 130
    assert sum(steps(ours, printed) <= 1 for ours, printed in floors) >= 210


@pytest.mark.parametrize("row", CATALOG.parallel_configs.values(), ids=lambda row: f"{row.model}-{row.seq_length}")
def test_every_recommended_layout_is_legal_and_fits(row: Any) -> None:
    devices = row.nodes * row.cards_per_node
    question = setting(row.model, seq_length=row.seq_length)
    wish = LayoutRequest(
        tensor_parallel_size=row.tensor_parallel_size, pipeline_parallel_size=row.pipeline_parallel_size
    )
    recompute = "full" if row.model == "mixtral-8x7b" else "none"
    found = [estimate(question, layout) for layout in legal(question, devices, wish, recompute=recompute)]
    assert row.tensor_parallel_size in tensor_sizes(question.shape)
    assert any(one.fits for one in found)


@pytest.mark.parametrize("row", CATALOG.parallel_configs.values(), ids=lambda row: f"{row.model}-{row.seq_length}")
def test_every_recommended_layout_passes_the_check(row: Any) -> None:
    """Some are longer than the model was trained with: of that the check only warns."""
    data = request(
        framework="mindspeed-llm",
        model=row.model,
        devices=row.nodes * row.cards_per_node,
        train__strategy="full",
        train__seq_length=row.seq_length,
        train__global_batch_size=None,
        train__layout__tensor_parallel_size=row.tensor_parallel_size,
        train__layout__pipeline_parallel_size=row.pipeline_parallel_size,
    )
    problems = check(data, CATALOG).problems
    assert [problem.code for problem in problems if problem.severity == "error"] == []
    limit = CATALOG.models[row.model].max_position_embeddings
    warned = [problem.severity for problem in problems if problem.code == "seq_length.beyond_trained"]
    assert warned == (["warning"] if limit is not None and row.seq_length > limit else [])


def test_only_a_length_that_the_vendor_prints_may_be_beyond_the_trained_one() -> None:
    wanted = {"model": "llama2-7b", "train__global_batch_size": None}
    codes = [
        {problem.code for problem in check(request(**wanted, **more), CATALOG).problems if problem.severity == "error"}
        for more in (
            {"train__seq_length": 8192},
            {"train__seq_length": 16384},
            {"train__seq_length": 8192, "framework": "native"},
        )
    ]
    assert ["seq_length.too_long" in found for found in codes] == [False, True, True]


def test_the_least_cutting_agrees_with_the_recommended_layouts() -> None:
    """Devices over which one copy of the model is spread. The table is of a release without distributed optimizer."""
    alone = LayoutRequest(zero_stage=0)
    apart = []
    for row in CATALOG.parallel_configs.values():
        question = setting(row.model, seq_length=row.seq_length)
        recompute = "full" if row.model == "mixtral-8x7b" else "none"
        layouts = legal(question, row.nodes * row.cards_per_node, alone, recompute=recompute, even=True)
        ours = min(
            layout.tensor_parallel_size * layout.pipeline_parallel_size * layout.expert_parallel_size
            for layout in layouts
            if estimate(question, layout).fits
        )
        apart.append(steps(ours, row.tensor_parallel_size * row.pipeline_parallel_size))
    assert sum(distance == 0 for distance in apart) >= 39
    assert all(distance <= 1 for distance in apart)


def test_device_counts_of_an_older_table_agree() -> None:
    """Release 6.3.907, full training with LLaMA-Factory: no constant was chosen on it."""
    apart = []
    for row in CATALOG.accumulations:
        if "c8f67835" in row.source and row.strategy == "full" and row.model in CATALOG.architectures:
            question = setting(row.model, "llama-factory", "full", row.seq_length)
            ours = need(question, CATALOG.hardware["snt9b"]).floor
            apart.append(steps(ours or 10**9, row.nodes * row.cards_per_node))
    assert len(apart) == 14
    assert sum(distance == 0 for distance in apart) >= 10
    assert all(distance <= 1 for distance in apart)


@pytest.mark.parametrize("row", list(published("layouts")), ids=lambda row: f"{row['model']}-{row['seq_length']}")
def test_a_published_script_fits_as_it_is(row: dict[str, str]) -> None:
    devices = int(row["nodes"]) * int(row["cards_per_node"])
    tensor, pipeline, context = int(row["tensor"]), int(row["pipeline"]), int(row["context"])
    layout = Layout(
        devices=devices,
        tensor_parallel_size=tensor,
        pipeline_parallel_size=pipeline,
        context_parallel_size=context,
        data_parallel_size=devices // (tensor * pipeline * context),
        zero_stage=int(row["distributed_optimizer"] == "yes"),
    )
    question = setting(row["model"], seq_length=int(row["seq_length"]), micro=int(row["micro_batch_size"]))
    assert estimate(question, layout).fits


def test_no_published_script_has_been_lost() -> None:
    assert len(list(published("layouts"))) == 12


def test_the_cluster_of_the_published_deepseek_script_fits() -> None:
    layout = Layout(
        devices=512,
        pipeline_parallel_size=8,
        expert_parallel_size=64,
        data_parallel_size=64,
        zero_stage=1,
        recompute="full",
        reuse_fp32_param=True,
    )
    assert estimate(setting("deepseek-v3"), layout).fits


IMPOSSIBLE = [
    ("mindspeed-llm", "full", "llama3.1-8b", 4096, 2),
    ("mindspeed-llm", "full", "qwen2.5-7b", 4096, 2),
    ("mindspeed-llm", "full", "qwen2.5-14b", 8192, 4),
    ("mindspeed-llm", "full", "qwen2.5-32b", 4096, 8),
    ("mindspeed-llm", "full", "yi-34b", 4096, 8),
    ("mindspeed-llm", "full", "llama3.1-70b", 4096, 16),
    ("mindspeed-llm", "full", "mixtral-8x7b", 4096, 8),
    ("mindspeed-llm", "full", "deepseek-v3", 4096, 128),
    ("mindspeed-llm", "full", "llama3.2-3b", 8192, 1),
    ("mindspeed-llm", "lora", "qwen2.5-32b", 4096, 1),
    ("mindspeed-llm", "lora", "qwen2.5-72b", 4096, 2),
    ("mindspeed-llm", "lora", "deepseek-v3", 4096, 16),
    ("llama-factory", "full", "qwen2-7b", 4096, 1),
    ("llama-factory", "full", "qwen2-7b", 4096, 2),
    ("llama-factory", "full", "llama3.1-8b", 4096, 2),
    ("llama-factory", "full", "qwen2.5-14b", 4096, 4),
    ("llama-factory", "full", "qwen2.5-32b", 4096, 8),
    ("llama-factory", "full", "llama3.1-70b", 4096, 16),
    ("llama-factory", "full", "llama3.1-70b", 8192, 32),
]


@pytest.mark.parametrize(("framework", "strategy", "model", "seq_length", "devices"), IMPOSSIBLE)
def test_what_cannot_fit_is_refused_with_the_numbers_that_break_it(
    framework: str, strategy: str, model: str, seq_length: int, devices: int
) -> None:
    data = request(
        framework=framework,
        model=model,
        devices=devices,
        train__strategy=strategy,
        train__seq_length=seq_length,
        train__global_batch_size=None,
    )
    verdict = check(data, CATALOG)
    problem = next(problem for problem in verdict.problems if problem.code == "devices.memory")
    parts = ("weights", "gradients", "optimizer", "activations", "logits", "buffers", "runtime")
    assert not verdict.fits
    assert problem.field == "devices"
    assert problem.parameters["needed"] > problem.parameters["capacity"]  # type: ignore[operator]
    assert sum(problem.parameters[part] for part in parts) == pytest.approx(  # type: ignore[misc]
        problem.parameters["needed"], abs=0.4
    )
    assert problem.nearest["devices"] > devices  # type: ignore[operator]
    assert verdict.devices.floor is not None
    assert verdict.devices.floor > devices


def test_the_known_figures_of_full_training_on_too_few_cards_come_out() -> None:
    """qwen2-7b with LLaMA-Factory: 138 GiB on one card, 70 on two with ZeRO-3; qwen2.5-7b with MindSpeed-LLM on two
    with everything that saves: 60.3 of 57.2 GiB."""
    question = setting("qwen2-7b", "llama-factory")
    alone = estimate(question, Layout(devices=1, data_parallel_size=1))
    sharded = estimate(question, Layout(devices=2, data_parallel_size=2, zero_stage=3))
    split = Layout(devices=2, tensor_parallel_size=2, data_parallel_size=1, recompute="full", reuse_fp32_param=True)
    tight = estimate(setting("qwen2.5-7b"), split)
    assert alone.breakdown.used / 2**30 == pytest.approx(138, abs=0.5)
    assert sharded.breakdown.used / 2**30 == pytest.approx(70, abs=0.5)
    assert tight.breakdown.used / 2**30 == pytest.approx(60.3, abs=0.1)
    assert tight.breakdown.used / tight.share / 2**30 == pytest.approx(57.2, abs=0.05)
