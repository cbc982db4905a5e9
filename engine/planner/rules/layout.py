"""Rules about parallel sizes that the person insists on."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from engine.planner.ask import Ask, round_up
from engine.problems import Problem, Value

SPLITS = ("tensor_parallel_size", "pipeline_parallel_size", "context_parallel_size")
IDLE: dict[str, Value] = {
    "tensor_parallel_size": 1,
    "pipeline_parallel_size": 1,
    "context_parallel_size": 1,
    "expert_parallel_size": 1,
    "zero_stage": 0,
    "recompute": "none",
}
"""The values that ask for nothing."""


def not_in_framework(ask: Ask) -> Iterator[Problem]:
    """Our own engine is data parallel alone in this release: the others are refused one by one."""
    if ask.spec.framework != "native":
        return
    for name, idle in IDLE.items():
        value = getattr(ask.spec.train.layout, name)
        if value is not None and value != idle:
            yield Problem(
                code="layout.not_yet",
                field=f"train.layout.{name}",
                fault="software",
                parameters={"name": name, "value": value},
                nearest={f"train.layout.{name}": None},
            )


def product(ask: Ask) -> Iterator[Problem]:
    if not ask.framework.splits_models:
        return
    sizes = {name: getattr(ask.spec.train.layout, name) or 1 for name in SPLITS}
    total = sizes["tensor_parallel_size"] * sizes["pipeline_parallel_size"] * sizes["context_parallel_size"]
    if ask.spec.devices % total:
        yield Problem(
            code="layout.product",
            field=f"train.layout.{max(sizes, key=lambda name: sizes[name])}",
            parameters={**sizes, "product": total, "devices": ask.spec.devices},
            nearest={"devices": round_up(ask.spec.devices, total)},
        )


def heads(ask: Ask) -> Iterator[Problem]:
    """Tensor parallel gives each device whole attention heads, of queries and of keys and values."""
    size, model = ask.spec.train.layout.tensor_parallel_size, ask.model
    if size is None or model is None or model.num_attention_heads is None or not ask.framework.splits_models:
        return
    key_value = model.num_key_value_heads or model.num_attention_heads
    common = gcd(model.num_attention_heads, key_value)
    if common % size:
        fitting = max(number for number in range(1, min(size, common) + 1) if common % number == 0)
        yield Problem(
            code="layout.heads",
            field="train.layout.tensor_parallel_size",
            parameters={
                "tensor_parallel_size": size,
                "heads": model.num_attention_heads,
                "key_value_heads": key_value,
            },
            nearest={"train.layout.tensor_parallel_size": fitting},
        )
