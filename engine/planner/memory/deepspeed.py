"""Memory of a LLaMA-Factory job: N devices that each hold the whole computation, states sharded by DeepSpeed ZeRO.

    peak = static + ZeRO buffers + kept inputs of every layer + max(one layer, logits)

Gradient checkpointing is always on, so the logits, which nothing splits, are the larger part.
"""

from __future__ import annotations

from engine.plan import Layout
from engine.planner.memory import constants as c
from engine.planner.memory import device
from engine.planner.memory.adapters import separate_adapters
from engine.planner.memory.breakdown import Breakdown
from engine.planner.memory.parameters import Counts, count
from engine.planner.memory.setting import Setting


def peak(setting: Setting, layout: Layout) -> Breakdown:
    """ZeRO stage 0 is plain data parallel, or one device alone."""
    shape, counts = setting.shape, count(setting.shape)
    tokens = setting.seq_length * setting.micro_batch_size
    weights, gradients, optimizer = _static(setting, counts, layout)
    layer = _layer(setting) * tokens
    logits = (c.HF_LOGITS * shape.vocab_size + c.TRANSIENT_HIDDEN * shape.hidden_size) * tokens
    kept = c.CHECKPOINT * shape.hidden_size * shape.num_hidden_layers * tokens
    return Breakdown(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        activations=kept + (layer if layer > logits else 0.0),
        logits=logits if logits >= layer else 0.0,
        buffers=_buffers(counts, layout),
        runtime=device.overhead(setting, communicators(layout)),
    )


def communicators(layout: Layout) -> int:
    return 2 if layout.devices > 1 else 0


def _layer(setting: Setting) -> float:
    """Bytes a token of the one layer that is being recomputed."""
    shape = setting.shape
    return (
        c.HF_LAYER_HIDDEN * shape.hidden_size
        + c.HF_LAYER_FEED_FORWARD * shape.intermediate_size
        + c.ATTENTION_STATISTICS * shape.num_attention_heads
    )


def _static(setting: Setting, counts: Counts, layout: Layout) -> tuple[float, float, float]:
    """Bytes of weights, gradients, optimizer states. The vision tower is frozen: weights alone."""

    def share(stage: int) -> int:
        return layout.devices if layout.zero_stage >= stage else 1

    weights = c.WEIGHT * counts.total / share(3)
    if setting.lora_rank is not None:
        adapters = separate_adapters(setting.shape, setting.lora_rank)
        return weights + c.WEIGHT * adapters, c.MAIN_GRADIENT * adapters, c.OPTIMIZER * adapters
    each = c.MAIN_GRADIENT if layout.zero_stage == 0 else c.DEEPSPEED_GRADIENT
    return weights, each * counts.text / share(2), c.OPTIMIZER * counts.text / share(1)


def _buffers(counts: Counts, layout: Layout) -> float:
    if layout.zero_stage == 0 or layout.devices == 1:
        return 0.0
    if layout.zero_stage < 3:
        return 2.0 * c.BUCKET_ELEMENTS * c.WEIGHT
    layer = counts.largest_layer
    return c.WEIGHT * max(c.LIVE_ELEMENTS + layer, counts.embedding + counts.output + 2 * layer)
