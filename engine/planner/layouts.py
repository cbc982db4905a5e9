"""Every legal layout of a model on a number of devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd

from engine.architecture import Architecture
from engine.plan import Layout
from engine.planner.memory.megatron import layers_of_stage
from engine.planner.memory.setting import Setting
from engine.spec import LayoutRequest

MAX_TENSOR = 8
"""Cards with fast links among them: tensor parallel stays within a node."""
CONTEXT_ABOVE = 32768
"""Tokens above which MindSpeed-LLM asks for context parallel of at least 2."""
CONTEXTS = (1, 2, 4, 8)
WORTH_CONTEXT = 16384
"""Shorter sequences are not split: tensor parallel does the same for less."""


def tensor_sizes(shape: Architecture) -> list[int]:
    """Powers of two that divide the attention heads and the key-value heads."""
    heads = gcd(shape.num_attention_heads, shape.key_value_heads_to_split)
    return [size for size in (1, 2, 4, 8) if heads % size == 0]


def context_sizes(seq_length: int) -> list[int]:
    if seq_length > CONTEXT_ABOVE:
        return [size for size in CONTEXTS if size > 1]
    return list(CONTEXTS) if seq_length >= WORTH_CONTEXT else [1]


def pipeline_sizes(layers: int, devices: int) -> list[int]:
    """Sizes that divide the devices and leave no stage without a layer."""
    return [size for size in _divisors(devices) if (size - 1) * layers_of_stage(layers, size) < layers]


def is_even(shape: Architecture, pipeline_parallel_size: int) -> bool:
    """Has every stage the same number of layers? Mixtures are filled up with empty layers."""
    return shape.num_hidden_layers % pipeline_parallel_size == 0 or shape.experts is not None


def legal(
    setting: Setting, devices: int, wish: LayoutRequest, *, recompute: str, even: bool = False, reuse: bool = False
) -> Iterator[Layout]:
    """Layouts with what the person insists on; none if that cannot be.

    even: only pipelines that divide the layers; reuse: with --reuse-fp32-param.
    """
    if setting.framework == "mindspeed-llm":
        yield from _megatron(setting, devices, wish, recompute, even, reuse)
    elif setting.framework == "llama-factory":
        stages = (0,) if devices == 1 else (0, 1, 2, 3)
        for stage in _chosen(wish.zero_stage, stages):
            yield Layout(devices=devices, data_parallel_size=devices, zero_stage=stage, recompute="full")
    else:
        yield Layout(devices=devices, data_parallel_size=devices, zero_stage=wish.zero_stage or 0)


def _megatron(
    setting: Setting, devices: int, wish: LayoutRequest, recompute: str, even: bool, reuse: bool
) -> Iterator[Layout]:
    shape = setting.shape
    for tensor in _chosen(wish.tensor_parallel_size, tensor_sizes(shape)):
        for context in _chosen(wish.context_parallel_size, context_sizes(setting.seq_length)):
            if devices % (tensor * context):
                continue
            rest = devices // (tensor * context)
            for pipeline in _chosen(wish.pipeline_parallel_size, pipeline_sizes(shape.num_hidden_layers, rest)):
                if rest % pipeline or pipeline > shape.num_hidden_layers or (even and not is_even(shape, pipeline)):
                    continue
                replicas = rest // pipeline
                for expert in _experts(shape, wish, replicas):
                    yield Layout(
                        devices=devices,
                        tensor_parallel_size=tensor,
                        pipeline_parallel_size=pipeline,
                        context_parallel_size=context,
                        expert_parallel_size=expert,
                        data_parallel_size=replicas,
                        zero_stage=_distributed(wish, replicas * context),
                        recompute=recompute,
                        reuse_fp32_param=reuse,
                    )


def _experts(shape: Architecture, wish: LayoutRequest, replicas: int) -> list[int]:
    sizes = expert_sizes(shape, replicas)
    return [size for size in sizes if wish.expert_parallel_size in (None, size)]


def expert_sizes(shape: Architecture, replicas: int) -> list[int]:
    """Sizes that divide the data-parallel size and the number of experts."""
    return _divisors(gcd(replicas, shape.experts.count)) if shape.experts is not None else [1]


def _distributed(wish: LayoutRequest, replicas: int) -> int:
    """Megatron's distributed optimizer is ZeRO stage 1; alone there is nothing to share out."""
    wanted = 1 if wish.zero_stage is None else min(1, wish.zero_stage)
    return wanted if replicas > 1 else 0


def _chosen(wanted: int | None, all_sizes: Iterable[int]) -> Iterable[int]:
    return all_sizes if wanted is None else (wanted,)


def _divisors(number: int) -> list[int]:
    return [size for size in range(1, number + 1) if number % size == 0]
