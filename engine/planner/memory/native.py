"""Memory of a native job: an ESTIMATE on the usual formulas, and marked so wherever it is shown.

Every process holds the whole model and its own micro-batch; ZeRO levels shard states as FSDP2 does. The layer
formula counts the tensors that autograd keeps in transformers' Llama code without gradient checkpointing:
inputs and outputs of both norms with the normalised value, q, k, v, the attention's output twice, and gate, its
activation, up and product. Samples are taken at their full length, every token learnt: shorter rows, and questions
that nothing is learnt from, take less. On a CPU the measured peak of ten configurations of 10 to 135 million
parameters is met within 7 per cent (benchmarks/memory.py).
"""

from __future__ import annotations

from engine.plan import Layout
from engine.planner.memory import constants as c
from engine.planner.memory import device
from engine.planner.memory.adapters import separate_adapters
from engine.planner.memory.breakdown import Breakdown
from engine.planner.memory.parameters import count
from engine.planner.memory.setting import Setting


def peak(setting: Setting, layout: Layout) -> Breakdown:
    shape, tokens = setting.shape, setting.seq_length * setting.micro_batch_size
    each = c.FP32 if setting.on_cpu else c.WEIGHT
    weights, gradients, optimizer = _static(setting, layout)
    activations = each * _layer(setting) * shape.num_hidden_layers * tokens
    return Breakdown(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        activations=activations,
        logits=c.NATIVE_LOGITS * shape.vocab_size * tokens,
        buffers=_held(setting, activations, gradients),
        runtime=device.overhead(setting, communicators(layout)),
    )


def _held(setting: Setting, activations: float, gradients: float) -> float:
    """What a CPU's allocator holds and cannot give out again: gradients of all parameters come to lie among the
    activations that are freed around them. Adapters' are too small for that. The buckets that are sent are no part
    of it: gradients are views of them."""
    if not setting.on_cpu or setting.lora_rank is not None:
        return 0.0
    return c.HELD_ACTIVATIONS * activations + c.HELD_GRADIENTS * gradients


def communicators(layout: Layout) -> int:
    return 2 if layout.devices > 1 else 0


def _static(setting: Setting, layout: Layout) -> tuple[float, float, float]:
    """fp32 weights and gradients and two moments: 16 bytes a trained parameter; a frozen one needs its weight alone."""
    counts, replicas = count(setting.shape), layout.data_parallel_size
    frozen = 0 if setting.lora_rank is None else counts.total
    trained = counts.total if setting.lora_rank is None else separate_adapters(setting.shape, setting.lora_rank)

    def share(stage: int) -> int:
        return replicas if layout.zero_stage >= stage else 1

    weight = c.FP32 if setting.on_cpu else c.WEIGHT
    weights = (weight * frozen + c.FP32 * trained) / share(3)
    return weights, c.FP32 * trained / share(2), c.MOMENTS * trained / share(1)


def _layer(setting: Setting) -> int:
    """Elements that one layer keeps for one token."""
    shape, inner = setting.shape, _intermediate(setting)
    plain = 6 * shape.hidden_size + 3 * shape.query_size + 2 * shape.key_value_size + 4 * inner
    if setting.lora_rank is None:
        return plain
    outputs = shape.query_size + 2 * shape.key_value_size + 2 * shape.hidden_size + 2 * inner
    return plain + c.ADAPTED_OUTPUTS * outputs


def _intermediate(setting: Setting) -> int:
    """Width of the feed-forward that one token passes."""
    experts = setting.shape.experts
    if experts is None:
        return setting.shape.intermediate_size
    return (experts.top_k + experts.shared) * experts.intermediate_size
