"""What must hold of every estimate, whatever is asked."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from engine.plan import Layout
from engine.planner.layouts import legal
from engine.planner.memory import Estimate, Setting, estimate
from engine.spec import LayoutRequest
from tests.engine.memory_questions import CATALOG, setting

SEEDS = range(60)
ANY = LayoutRequest()


def asked(dice: random.Random, framework: str | None = None) -> tuple[Setting, Layout]:
    chosen = framework or dice.choice(["mindspeed-llm", "llama-factory", "native"])
    question = setting(
        dice.choice(list(CATALOG.architectures)),
        chosen,
        dice.choice(["full", "lora"]),
        dice.choice([512, 4096, 8192, 65536]),
        dice.choice([1, 2, 4]),
    )
    if chosen == "native" and dice.random() < 0.5:
        question = replace(question, on_cpu=True, memory_gib=None)
    recompute = dice.choice(["none", "full"])
    layouts = list(legal(question, dice.choice([2, 8, 16, 64]), ANY, recompute=recompute, reuse=dice.random() < 0.5))
    return question, dice.choice(layouts)


def apart_from_buffers(found: Estimate) -> float:
    """Without communication buffers and what ZeRO gathers, which a larger group needs more of."""
    return found.breakdown.used - found.breakdown.buffers


@pytest.mark.parametrize("seed", SEEDS)
def test_the_parts_sum_to_the_whole(seed: int) -> None:
    question, layout = asked(random.Random(seed))
    found = estimate(question, layout)
    memory = found.memory()
    assert sum(found.breakdown.parts().values()) == pytest.approx(found.breakdown.total)
    assert round(sum(memory.breakdown.values()), 3) == memory.per_device_gib
    assert set(memory.breakdown) == {
        "weights", "gradients", "optimizer", "activations", "logits", "buffers", "runtime"
    }  # fmt: skip
    assert all(value >= 0 for value in memory.breakdown.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_never_falls_with_length_or_micro_batch(seed: int) -> None:
    dice = random.Random(seed)
    question, layout = asked(dice)
    longer = replace(question, seq_length=question.seq_length + dice.choice([1, 100, 4096]))
    larger = question.with_micro_batch(question.micro_batch_size + 1)
    now = estimate(question, layout).breakdown.total
    assert estimate(longer, layout).breakdown.total >= now
    assert estimate(larger, layout).breakdown.total >= now


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_never_rises_with_tensor_parallel(seed: int) -> None:
    question, layout = asked(random.Random(seed), "mindspeed-llm")
    more = layout.model_copy(
        update={"devices": layout.devices * 2, "tensor_parallel_size": layout.tensor_parallel_size * 2}
    )
    assert apart_from_buffers(estimate(question, more)) <= apart_from_buffers(estimate(question, layout))


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_never_rises_with_data_parallel(seed: int) -> None:
    question, layout = asked(random.Random(seed))
    more = layout.model_copy(
        update={"devices": layout.devices * 2, "data_parallel_size": layout.data_parallel_size * 2}
    )
    assert apart_from_buffers(estimate(question, more)) <= apart_from_buffers(estimate(question, layout))


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_never_rises_with_the_zero_level(seed: int) -> None:
    dice = random.Random(seed)
    question, layout = asked(dice, dice.choice(["mindspeed-llm", "llama-factory", "native"]))
    levels = range(2) if question.framework == "mindspeed-llm" else range(4)
    sizes = [apart_from_buffers(estimate(question, layout.model_copy(update={"zero_stage": z}))) for z in levels]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_never_rises_with_recompute(seed: int) -> None:
    question, layout = asked(random.Random(seed), "mindspeed-llm")
    without, full = (
        estimate(question, layout.model_copy(update={"recompute": how})).breakdown.total for how in ("none", "full")
    )
    if layout.pipeline_parallel_size > 1 or question.shape.num_hidden_layers > 20:
        assert full <= without
