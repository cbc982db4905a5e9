"""The throughput model against MindSpeed-LLM's published tokens per second and card."""

from __future__ import annotations

from statistics import median

import pytest

from engine.planner import throughput
from engine.planner.throughput import flops, speed
from tests.engine.memory_questions import CATALOG, published, setting

POINTS = list(published("throughput"))


def off(row: dict[str, str]) -> float:
    """How far the middle of our range is from the published speed."""
    question = setting(row["model"], seq_length=int(row["seq_len"]))
    usual = throughput.MEASURED_AT * throughput.usual_mfu(question) / flops(question.shape, question.seq_length)
    return abs(usual / float(row["tokens_per_s_per_card"]) - 1)


def test_a_published_share_of_the_peak_comes_out_in_the_full_attention_convention() -> None:
    shape = CATALOG.architectures["llama2-7b"]
    full = flops(shape, 4096) + throughput.attention_flops(shape, 4096)
    assert 4672 * full / 313e12 == pytest.approx(0.69, abs=0.01)


def test_dense_models_are_met_within_40_per_cent_and_half_of_them_within_20() -> None:
    dense = [off(row) for row in POINTS if CATALOG.architectures[row["model"]].experts is None]
    assert len(dense) == 32
    assert max(dense) < 0.40
    assert median(dense) < 0.20


def test_every_published_point_is_in_the_range_that_would_be_shown() -> None:
    for row in POINTS:
        question = setting(row["model"], seq_length=int(row["seq_len"]))
        found = speed(question, "snt9b", recompute=False)
        assert found is not None
        assert found.low <= float(row["tokens_per_s_per_card"]) <= found.high, row
        assert found.basis == "default_mfu"


def test_what_is_less_known_has_a_wider_range() -> None:
    dense = speed(setting("llama3.1-8b"), "snt9b", recompute=False)
    others = [
        speed(setting("llama3.1-8b", strategy="lora"), "snt9b", recompute=False),
        speed(setting("llama3.1-8b", "llama-factory"), "snt9b", recompute=True),
        speed(setting("mixtral-8x7b"), "snt9b", recompute=True),
        speed(setting("qwen2-0.5b"), "snt9b", recompute=False),
    ]
    assert dense is not None
    assert dense.high / dense.low == pytest.approx(2)
    assert all(one is not None and one.high / one.low == pytest.approx(4) for one in others)


def test_recompute_costs_a_third_more_work() -> None:
    shape = CATALOG.architectures["llama3.1-8b"]
    assert flops(shape, 4096, recompute=True) == pytest.approx(flops(shape, 4096) * 4 / 3)


def test_own_runs_replace_the_usual_share() -> None:
    found = speed(setting("llama3.1-8b"), "snt9b", recompute=False, own_runs=[2300.0, 2400.0, 2350.0])
    assert found is not None
    assert (found.basis, found.runs, found.mfu) == ("own_runs", 3, None)
    assert found.low <= 2300 < 2400 <= found.high


def test_no_speed_is_made_up_where_none_is_published() -> None:
    assert speed(setting("llama3.1-8b"), "cuda", recompute=False) is None
    assert speed(setting("llama3.1-8b", "native"), "snt9b", recompute=False) is None
