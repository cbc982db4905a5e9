"""Memory of a MindSpeed-LLM (Megatron) job: the fullest of its pipeline stages.

    peak = static + activations + max(layer replay + transient, logits on the last stage)

Symbols as in the literature: h hidden, f intermediate, a heads, q and kv widths of queries and keys, V vocabulary,
t tensor parallel. Sequence parallel is on wherever t > 1, as in all published scripts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from engine.architecture import Architecture
from engine.plan import Layout
from engine.planner.memory import constants as c
from engine.planner.memory import device
from engine.planner.memory.adapters import megatron_adapters
from engine.planner.memory.breakdown import Breakdown
from engine.planner.memory.parameters import Counts, count
from engine.planner.memory.setting import Setting


@dataclass(frozen=True)
class StageSize:
    """One pipeline stage: its layers and the micro-batches that it holds at once."""

    layers: tuple[int, int]
    """Dense and mixture layers."""
    in_flight: int
    first: bool
    last: bool


def peak(setting: Setting, layout: Layout) -> Breakdown:
    """The fullest device."""
    candidates = stages(setting.shape, layout.pipeline_parallel_size)
    return max((_stage(setting, layout, stage) for stage in candidates), key=lambda one: one.used)


@lru_cache(maxsize=1024)
def stages(shape: Architecture, size: int) -> tuple[StageSize, ...]:
    """The stages of an even split that can be the fullest: the first, the second, the first of mixtures, the last.

    size: of the pipeline. Layers that do not divide are rounded up, as with Megatron's empty layers at the end.
    """
    counts = count(shape)
    each = layers_of_stage(counts.layers, size)
    first_of_mixtures = -(-counts.dense_layers // each) if counts.moe_layers else 0
    found = []
    for number in sorted({0, 1, first_of_mixtures, size - 1}):
        if number < size:
            before = each * number
            layers = max(0, min(each, counts.layers - before))
            dense = max(0, min(layers, counts.dense_layers - before))
            found.append(StageSize((dense, layers - dense), size - number, number == 0, number == size - 1))
    return tuple(found)


def least_states(setting: Setting, devices: int, cut: int, expert: int) -> float:
    """Bytes of states that the fullest device has at least: the mean over the pipeline stages.

    cut: tensor times pipeline parallel size.
    """
    shared, routed = _text_parameters(setting.shape)
    own = (shared + routed / expert) / cut
    if setting.lora_rank is not None:
        return c.WEIGHT * own
    return (c.WEIGHT + c.MAIN_GRADIENT) * own + (c.OPTIMIZER - c.REUSED_FP32) * (shared + routed) / devices


@lru_cache(maxsize=1024)
def _text_parameters(shape: Architecture) -> tuple[int, int]:
    """Of the text model: all but the routed experts, and those."""
    counts = count(shape)
    routed = counts.moe_layers * counts.routed_experts
    return counts.text - routed, routed


def least_working(setting: Setting, tensor: int, context: int) -> tuple[float, float]:
    """Bytes that every stage has at least while it works on one micro-batch; bytes of the last one's logits."""
    tokens = setting.seq_length * setting.micro_batch_size / context
    return _transient(setting.shape, tensor, tokens), _logits(setting.shape, tensor, tokens)


def least_kept(setting: Setting, tensor: int, context: int, recompute: str) -> tuple[float, float]:
    """Bytes that all layers keep of one micro-batch, one of which every stage of a pipeline holds; and what the first
    stage keeps at least, which holds as many micro-batches as there are stages."""
    shape, counts = setting.shape, count(setting.shape)
    share = setting.seq_length * setting.micro_batch_size / (context * tensor)
    kinds = (((1, 0), counts.dense_layers), ((0, 1), counts.moe_layers))
    least = min(_kept(shape, kind, recompute) for kind, there in kinds if there)
    return _kept(shape, (counts.dense_layers, counts.moe_layers), recompute) * share, least * counts.layers * share


def layers_of_stage(layers: int, pipeline_parallel_size: int) -> int:
    return -(-layers // pipeline_parallel_size)


def _stage(setting: Setting, layout: Layout, stage: StageSize) -> Breakdown:
    tokens = setting.seq_length * setting.micro_batch_size / layout.context_parallel_size
    weights, gradients, optimizer, buffers = _static(setting, layout, stage)
    kept, replay = _activations(setting, layout, stage, tokens)
    tensor = layout.tensor_parallel_size
    logits = _logits(setting.shape, tensor, tokens) if stage.last else 0.0
    working = replay + _transient(setting.shape, tensor, tokens)
    return Breakdown(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        activations=kept + (working if working > logits else 0.0),
        logits=logits if logits >= working else 0.0,
        buffers=buffers,
        runtime=device.overhead(setting, communicators(layout)),
    )


def communicators(layout: Layout) -> int:
    """One each for tensor, data, expert and context parallel and for the world, two for pipeline."""
    return (
        (layout.tensor_parallel_size > 1)
        + (layout.data_parallel_size > 1)
        + (layout.expert_parallel_size > 1)
        + (layout.context_parallel_size > 1)
        + (layout.devices > 1)
        + 2 * (layout.pipeline_parallel_size > 1)
    )


def _static(setting: Setting, layout: Layout, stage: StageSize) -> tuple[float, float, float, float]:
    """Weights, gradients, optimizer states, and the bf16 weight gradient of one layer; bytes."""
    counts = count(setting.shape)
    shared, routed = _parameters(counts, layout, stage)
    weights = c.WEIGHT * (shared + routed)
    if setting.lora_rank is not None:
        adapters = megatron_adapters(setting.shape, setting.lora_rank, *stage.layers) / layout.tensor_parallel_size
        return weights + c.WEIGHT * adapters, c.MAIN_GRADIENT * adapters, c.OPTIMIZER * adapters, 0.0
    replicas = layout.data_parallel_size * layout.context_parallel_size if layout.zero_stage else 1
    expert_replicas = max(1, replicas / layout.expert_parallel_size)
    each = c.OPTIMIZER - (c.REUSED_FP32 if layout.reuse_fp32_param else 0)
    optimizer = each * (shared / replicas + routed / expert_replicas)
    layer = max(counts.dense_layer, counts.moe_layer + counts.routed_experts / layout.expert_parallel_size)
    return (
        weights,
        c.MAIN_GRADIENT * (shared + routed),
        optimizer,
        c.WEIGHT * layer / layout.tensor_parallel_size,
    )


def _parameters(counts: Counts, layout: Layout, stage: StageSize) -> tuple[float, float]:
    """Parameters of one device: all but the routed experts, and those."""
    dense, mixture = stage.layers
    size = layout.tensor_parallel_size
    own = dense * counts.dense_layer + mixture * counts.moe_layer
    if stage.first:
        own += counts.embedding
    if stage.last:
        copied = counts.embedding if not counts.output and not stage.first else counts.output
        own += copied + counts.final_norm
    return own / size, mixture * counts.routed_experts / (size * layout.expert_parallel_size)


@lru_cache(maxsize=1024)
def per_token(shape: Architecture, mixture: bool) -> float:
    """Bytes that one layer keeps for one token, before it is divided by tensor parallel."""
    attention = 2 * (shape.query_size + 2 * shape.key_value_size) + 2 * shape.query_size
    statistics = c.ATTENTION_STATISTICS * shape.num_attention_heads
    return c.NORMS * shape.hidden_size + attention + statistics + _feed_forward(shape, mixture)


def _feed_forward(shape: Architecture, mixture: bool) -> float:
    experts = shape.experts
    if not mixture or experts is None:
        return c.FEED_FORWARD * shape.intermediate_size
    inner = c.FEED_FORWARD * experts.intermediate_size
    routed = c.EXPERT_IMBALANCE * experts.top_k * (inner + 4 * shape.hidden_size)
    return routed + experts.shared * inner


def _activations(setting: Setting, layout: Layout, stage: StageSize, tokens: float) -> tuple[float, float]:
    """What stays until the backward pass, and what one layer makes again in it; bytes."""
    shape, (dense, mixture) = setting.shape, stage.layers
    share = tokens / layout.tensor_parallel_size
    kept = _kept(shape, stage.layers, layout.recompute) * share * stage.in_flight
    if layout.recompute != "full":
        return kept, 0.0
    return kept, max(per_token(shape, False) if dense else 0.0, per_token(shape, True) if mixture else 0.0) * share


def _kept(shape: Architecture, layers: tuple[int, int], recompute: str) -> float:
    """Bytes that these dense and mixture layers keep for one token, before it is divided by tensor parallel."""
    dense, mixture = layers
    if recompute == "full":
        return c.CHECKPOINT * shape.hidden_size * (dense + mixture)
    return dense * per_token(shape, False) + mixture * per_token(shape, True)


def _transient(shape: Architecture, tensor: int, tokens: float) -> float:
    return (c.FEED_FORWARD * shape.intermediate_size / tensor + c.TRANSIENT_HIDDEN * shape.hidden_size) * tokens


def _logits(shape: Architecture, tensor: int, tokens: float) -> float:
    return (c.MEGATRON_LOGITS * shape.vocab_size + c.TRANSIENT_HIDDEN * shape.hidden_size) * tokens / tensor
