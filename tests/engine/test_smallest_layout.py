"""The search for the layout that needs the least leaves most layouts out; what it finds is the least of all."""

from __future__ import annotations

import random
from dataclasses import replace
from math import inf

import pytest

from engine.planner.fitting import ANY, fits, smallest
from engine.planner.layouts import legal
from engine.planner.memory import device, estimate
from tests.engine.memory_questions import setting

MODELS = ("deepseek-v3", "mixtral-8x7b", "llama3.1-70b", "qwen2.5-7b", "llama3.2-1b", "qwen2vl-72b")


@pytest.mark.parametrize("seed", range(40))
def test_nothing_that_is_left_out_needs_less(seed: int) -> None:
    dice = random.Random(seed)
    question = setting(
        dice.choice(MODELS),
        dice.choice(["mindspeed-llm", "llama-factory"]),
        dice.choice(["full", "lora"]),
        dice.choice([512, 8192, 131072, 10_000_000]),
        dice.choice([1, 4]),
    )
    devices = dice.choice([1, 2, 8, 24, 64, 512])
    every = [estimate(question, one) for one in legal(question, devices, ANY, recompute="full", reuse=True)]
    found = smallest(question, devices)
    if not every:
        assert found is None
        return
    assert found is not None
    assert found.breakdown.total == min(one.breakdown.total for one in every)
    assert fits(question, devices) == any(one.fits for one in every)


@pytest.mark.parametrize("recompute", ["none", "full"])
def test_what_is_left_out_is_beyond_the_bound(recompute: str) -> None:
    left_out = 0
    for model in MODELS:
        question = setting(model, seq_length=32768)
        most = device.capacity(question) or inf
        within = set(legal(question, 64, ANY, recompute=recompute, most=most))
        for layout in set(legal(question, 64, ANY, recompute=recompute)) - within:
            assert estimate(question, layout).breakdown.used > most
            left_out += 1
    assert left_out > 50


@pytest.mark.parametrize("framework", ["mindspeed-llm", "llama-factory"])
def test_on_a_device_that_the_runtime_alone_fills_nothing_fits(framework: str) -> None:
    question = replace(setting("qwen2.5-7b", framework), memory_gib=1.0)
    assert not fits(question, 8)
