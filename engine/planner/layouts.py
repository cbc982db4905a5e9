"""Every legal layout of a model on a number of devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import gcd, inf, isqrt
from typing import NamedTuple

from engine.architecture import Architecture
from engine.plan import Layout
from engine.planner.memory.megatron import layers_of_stage, least_kept, least_states, least_working
from engine.planner.memory.setting import Setting
from engine.spec import LayoutRequest

MAX_TENSOR = 8
"""Cards with fast links among them: tensor parallel stays within a node."""
CONTEXT_ABOVE = 32768
"""Tokens above which MindSpeed-LLM asks for context parallel of at least 2."""
CONTEXTS = (1, 2, 4, 8)
LARGEST_CUT = 2 * CONTEXTS[-1] * MAX_TENSOR
"""Every layout of ours cuts a sample whose length is a multiple of this."""
WORTH_CONTEXT = 16384
"""Shorter sequences are not split: tensor parallel does the same for less."""


@lru_cache(maxsize=256)
def tensor_sizes(shape: Architecture) -> list[int]:
    """Powers of two that divide the attention heads and the key-value heads."""
    heads = gcd(shape.num_attention_heads, shape.key_value_heads_to_split)
    return [size for size in (1, 2, 4, 8) if heads % size == 0]


def context_sizes(seq_length: int) -> list[int]:
    if seq_length > CONTEXT_ABOVE:
        return [size for size in CONTEXTS if size > 1]
    return list(CONTEXTS) if seq_length >= WORTH_CONTEXT else [1]


@lru_cache(maxsize=4096)
def pipeline_sizes(layers: int, devices: int) -> list[int]:
    """Sizes that divide the devices and leave no stage without a layer."""
    return [size for size in _divisors(devices) if (size - 1) * layers_of_stage(layers, size) < layers]


def divides_length(seq_length: int, tensor: int, context: int) -> bool:
    """Can Megatron cut a sample so? Context parallel takes two pieces a rank, sequence parallel (on with tensor
    parallel) cuts what a rank has once more."""
    pieces = 2 * context if context > 1 else 1
    return seq_length % pieces == 0 and seq_length // context % tensor == 0


def is_even(shape: Architecture, pipeline_parallel_size: int) -> bool:
    """Has every stage the same number of layers? Mixtures are filled up with empty layers."""
    return shape.num_hidden_layers % pipeline_parallel_size == 0 or shape.experts is not None


class Sizes(NamedTuple):
    tensor: int
    pipeline: int
    context: int
    expert: int
    replicas: int


def legal(
    setting: Setting,
    devices: int,
    wish: LayoutRequest,
    *,
    recompute: str,
    even: bool = False,
    reuse: bool = False,
    most: float = inf,
    most_cut_first: bool = False,
) -> Iterator[Layout]:
    """Layouts with what the person insists on; none if that cannot be.

    even: only pipelines that divide the layers; reuse: with --reuse-fp32-param; most: bytes, a layout that surely
    needs more is left out (most of a large model's do, and a check has to be quick).
    """
    if setting.framework == "mindspeed-llm":
        for sizes in _megatron(setting, devices, wish, even, recompute, most, -1 if most_cut_first else 1):
            yield _layout(devices, wish, sizes, recompute, reuse)
    elif setting.framework == "llama-factory":
        stages = (0,) if devices == 1 else (0, 1, 2, 3)
        for stage in _chosen(wish.zero_stage, stages):
            yield Layout(devices=devices, data_parallel_size=devices, zero_stage=stage, recompute="full")
    else:
        yield from of_native(setting.shape, devices, wish)


def of_native(shape: Architecture | None, devices: int, wish: LayoutRequest) -> Iterator[Layout]:
    """Layouts of our own engine, the least cut first. shape: null, and only the sizes asked for are tried."""
    heads = 1 if shape is None else gcd(shape.num_attention_heads, shape.key_value_heads_to_split)
    layers = 1 if shape is None else shape.num_hidden_layers
    tensors = _chosen(wish.tensor_parallel_size, [size for size in _divisors(devices) if heads % size == 0])
    pipelines = _chosen(wish.pipeline_parallel_size, [size for size in _divisors(devices) if size <= layers])
    sizes = [(tensor, pipeline) for tensor in tensors for pipeline in pipelines if devices % (tensor * pipeline) == 0]
    for tensor, pipeline in sorted(sizes, key=lambda pair: (pair[0] * pair[1], pair[0])):
        replicas = devices // (tensor * pipeline)
        if shape is not None and (heads % tensor or pipeline > layers):
            continue
        for stage in _chosen(wish.zero_stage, (0, 1, 2, 3)) if replicas > 1 else (0,):
            yield Layout(
                devices=devices,
                tensor_parallel_size=tensor,
                pipeline_parallel_size=pipeline,
                data_parallel_size=replicas,
                zero_stage=stage,
            )


def _layout(devices: int, wish: LayoutRequest, sizes: Sizes, recompute: str, reuse: bool) -> Layout:
    return Layout(
        devices=devices,
        tensor_parallel_size=sizes.tensor,
        pipeline_parallel_size=sizes.pipeline,
        context_parallel_size=sizes.context,
        expert_parallel_size=sizes.expert,
        data_parallel_size=sizes.replicas,
        zero_stage=_distributed(wish, sizes.replicas * sizes.context),
        recompute=recompute,
        reuse_fp32_param=reuse,
    )


def _megatron(
    setting: Setting, devices: int, wish: LayoutRequest, even: bool, recompute: str, most: float, order: int
) -> Iterator[Sizes]:
    """The sizes whose least bytes are within `most`: neither less than what the first and the last stage work with,
    nor than the mean over the stages of what each holds. order: 1, or -1 to begin with those that cut most."""
    layers = setting.shape.num_hidden_layers
    for tensor in _chosen(wish.tensor_parallel_size, tensor_sizes(setting.shape))[::order]:
        for context in _chosen(wish.context_parallel_size, context_sizes(setting.seq_length))[::order]:
            if devices % (tensor * context):
                continue
            working, logits = least_working(setting, tensor, context)
            kept, first = least_kept(setting, tensor, context, recompute)
            if max(working + first, logits) > most:
                continue
            rest = devices // (tensor * context)
            for pipeline in _chosen(wish.pipeline_parallel_size, pipeline_sizes(layers, rest))[::order]:
                if rest % pipeline or pipeline > layers or (even and not is_even(setting.shape, pipeline)):
                    continue
                room = most - working - kept / pipeline
                for expert in _experts(setting.shape, wish, rest // pipeline) if room > 0 else ():
                    if least_states(setting, devices, tensor * pipeline, expert) <= room:
                        yield Sizes(tensor, pipeline, context, expert, rest // pipeline)


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


def _chosen(wanted: int | None, all_sizes: Sequence[int]) -> Sequence[int]:
    return all_sizes if wanted is None else (wanted,)


@lru_cache(maxsize=4096)
def _divisors(number: int) -> list[int]:
    small = [size for size in range(1, isqrt(number) + 1) if number % size == 0]
    return small + [number // size for size in reversed(small) if size * size != number]
