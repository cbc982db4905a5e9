"""The micro-batch that a check proposes: the largest divisor that fits, found in few searches."""

from __future__ import annotations

from typing import Any

import pytest

from engine.planner.ask import Ask
from engine.planner.fitting import fits
from engine.planner.memory import Setting
from engine.planner.rules import memory
from engine.planner.sizing import setting_of, wish_of
from engine.spec import JobSpec
from tests.engine.asked import request
from tests.engine.memory_questions import CATALOG

ASKED: list[dict[str, Any]] = [
    {"train__micro_batch_size": 720720},
    {"train__micro_batch_size": 5040, "framework": "llama-factory"},
    {"train__micro_batch_size": 5040, "train__strategy": "lora", "framework": "llama-factory"},
    {"train__micro_batch_size": 5040, "train__strategy": "lora"},
    {"train__micro_batch_size": 720, "train__seq_length": 8192},
    {"train__micro_batch_size": 997},
    {"train__micro_batch_size": 1024, "devices": 64},
    {"train__micro_batch_size": 2310, "model": "qwen2.5-7b"},
    {"train__micro_batch_size": 360, "model": "qwen2.5-72b", "devices": 64},
    {"train__micro_batch_size": 720, "model": "yi-6b"},
    {"train__micro_batch_size": 2401, "model": "llama2-13b"},
    {"train__micro_batch_size": 840, "model": "mixtral-8x7b", "devices": 16},
    {"train__micro_batch_size": 480, "train__layout__tensor_parallel_size": 8, "train__layout__recompute": "none"},
]


def question(changes: dict[str, Any]) -> tuple[Setting, Ask]:
    ask = Ask(JobSpec.model_validate(request(**changes, train__global_batch_size=None)), CATALOG)
    setting = setting_of(ask)
    assert setting is not None
    return setting, ask


@pytest.mark.parametrize("changes", ASKED, ids=str)
def test_it_is_what_trying_every_divisor_finds(changes: dict[str, Any]) -> None:
    setting, ask = question(changes)
    assert not fits(setting, ask.spec.devices, wish_of(ask))
    whole = setting.micro_batch_size
    divisors = (size for size in range(whole // 2, 0, -1) if whole % size == 0)
    found = (size for size in divisors if fits(setting.with_micro_batch(size), ask.spec.devices, wish_of(ask)))
    assert memory._micro_that_fits(setting, ask) == next(found)


def test_a_size_with_hundreds_of_divisors_takes_few_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []

    def counted(setting: Setting, *rest: Any) -> bool:
        searches.append(setting.micro_batch_size)
        return fits(setting, *rest)

    monkeypatch.setattr(memory, "fits", counted)
    memory._micro_that_fits(*question({"train__micro_batch_size": 720720}))
    assert len(searches) <= 8  # of 238
