"""Memory of a native job: an ESTIMATE on the usual formulas, and marked so wherever it is shown.

Of the fullest process: tensor parallel cuts matrices, pipeline parallel layers (the first stage holds the embedding
and as many micro-batches as there are stages, the last one the head and its logits), and ZeRO shards as FSDP2 does,
which gathers weights on the way. The layer formula counts the tensors that autograd keeps in transformers' Llama code
without gradient checkpointing: inputs and outputs of both norms with the normalised value, q, k, v, the attention's
output twice, and gate, its activation, up and product. Samples are taken at their full length, every token learnt:
shorter rows, and questions that nothing is learnt from, take less. What has been measured on a CPU, and how far off
the estimate is: benchmarks/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.plan import Layout
from engine.planner.memory import constants as c
from engine.planner.memory import device
from engine.planner.memory.adapters import separate_adapters
from engine.planner.memory.breakdown import Breakdown
from engine.planner.memory.parameters import count
from engine.planner.memory.setting import Setting


@dataclass(frozen=True)
class Stage:
    """What a pipeline stage holds: parameters, how many layers, micro-batches on their way, and has it the head?"""

    embedding: float
    layers: int
    in_flight: int
    head: bool


def peak(setting: Setting, layout: Layout) -> Breakdown:
    return max((_of_stage(setting, layout, stage) for stage in _ends(setting, layout)), key=lambda found: found.total)


def _ends(setting: Setting, layout: Layout) -> tuple[Stage, ...]:
    """The stages that can be the fullest. One with a layer less is taken to have as many as the others."""
    counts, pieces = count(setting.shape), layout.pipeline_parallel_size
    layers = -(-setting.shape.num_hidden_layers // pieces)
    if pieces == 1:
        return (Stage(counts.embedding + counts.output + counts.vision, layers, 1, True),)
    first = Stage(counts.embedding + counts.vision, layers, pieces, False)
    return first, Stage(counts.output or counts.embedding, layers, 1, True)


def _of_stage(setting: Setting, layout: Layout, stage: Stage) -> Breakdown:
    tokens = setting.seq_length * setting.micro_batch_size
    each = c.FP32 if setting.on_cpu else c.WEIGHT
    weights, gradients, optimizer = _static(setting, layout, stage)
    activations = each * _layer(setting, layout) * stage.layers * tokens * stage.in_flight
    logits = _logits(setting, tokens) / layout.tensor_parallel_size if stage.head else 0.0
    found = Breakdown(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        activations=activations,
        logits=logits,
        buffers=_held(setting, activations, gradients) + _summed(setting, layout, gradients),
        runtime=device.overhead(setting, communicators(layout)) + _peers(setting, layout),
    )
    return replace(found, buffers=found.buffers + _while_loading(setting, layout, found))


def _logits(setting: Setting, tokens: int) -> float:
    """Blocks of them, and the gradient of the head, which is made beside them."""
    shape, blocks = setting.shape, c.HEAD_BLOCKS * min(setting.shape.vocab_size * tokens, c.HEAD_BLOCK)
    head = 0 if setting.lora_rank is not None else shape.vocab_size * shape.hidden_size
    return float(c.FP32 * (blocks + head))


def _peers(setting: Setting, layout: Layout) -> float:
    return c.CPU_PEERS_GIB * c.GIB if setting.on_cpu and layout.devices > 1 else 0.0


def _while_loading(setting: Setting, layout: Layout, found: Breakdown) -> float:
    """Every process reads the whole model before it keeps its part: what that takes more than the training."""
    if not setting.on_cpu or (layout.devices == layout.data_parallel_size and layout.zero_stage == 0):
        return 0.0
    return max(0.0, c.FP32 * count(setting.shape).total - found.used)


def _held(setting: Setting, activations: float, gradients: float) -> float:
    """What a CPU's allocator holds and cannot give out again: gradients of all parameters come to lie among the
    activations that are freed around them. Adapters' are too small for that. The buckets that are sent are no part
    of it: gradients are views of them."""
    if not setting.on_cpu or setting.lora_rank is not None:
        return 0.0
    return c.HELD_ACTIVATIONS * activations + c.HELD_GRADIENTS * gradients


def _summed(setting: Setting, layout: Layout, gradients: float) -> float:
    """Gradients that are laid side by side to be summed, where DDP does not do it."""
    cut = layout.tensor_parallel_size * layout.pipeline_parallel_size > 1
    if not setting.on_cpu or not cut or layout.data_parallel_size == 1 or layout.zero_stage > 0:
        return 0.0
    return min(gradients, 2.0 * c.FP32 * c.NATIVE_BUCKET)


def communicators(layout: Layout) -> int:
    return 2 if layout.devices > 1 else 0


def _static(setting: Setting, layout: Layout, stage: Stage) -> tuple[float, float, float]:
    """fp32 weights and gradients and two moments: 16 bytes a trained parameter; a frozen one needs its weight alone."""
    counts, parts = count(setting.shape), layout.tensor_parallel_size
    a_layer = counts.all_layers / counts.layers / parts
    around = stage.embedding / parts + counts.final_norm
    held = around + a_layer * stage.layers
    share_of_layers = stage.layers / counts.layers
    if setting.lora_rank is None:
        frozen, trained = 0.0, held
    else:
        frozen, trained = held, separate_adapters(setting.shape, setting.lora_rank) * share_of_layers
    replicas, level = layout.data_parallel_size, layout.zero_stage if layout.data_parallel_size > 1 else 0
    weight = c.FP32 if setting.on_cpu else c.WEIGHT
    kept = trained * c.FP32 / (replicas if level == 3 else 1) + frozen * weight / (replicas if level == 3 else 1)
    gathered = _gathered(setting, level, replicas, trained, around + 2 * a_layer)
    gradients = c.FP32 * trained / (replicas if level >= 2 else 1)
    return kept + gathered, gradients, c.MOMENTS * trained / (replicas if level >= 1 else 1)


def _gathered(setting: Setting, level: int, replicas: int, trained: float, at_once: float) -> float:
    """Weights that FSDP2 has twice: its shard beside all of them (1 and 2), or the layers it works on beside the
    shards (3). On other devices than a CPU nothing has been measured, and nothing is added."""
    if not setting.on_cpu or level == 0:
        return 0.0
    return c.FP32 * (at_once * (1 - 1 / replicas) if level == 3 else trained / replicas)


def _layer(setting: Setting, layout: Layout) -> float:
    """Elements that one layer keeps for one token."""
    shape, inner = setting.shape, _intermediate(setting)
    cut = 3 * shape.query_size + 2 * shape.key_value_size + 4 * inner
    plain = 6 * shape.hidden_size + cut / layout.tensor_parallel_size
    if setting.lora_rank is None:
        return plain
    outputs = shape.query_size + 2 * shape.key_value_size + 2 * inner
    return plain + c.ADAPTED_OUTPUTS * (2 * shape.hidden_size + outputs / layout.tensor_parallel_size)


def _intermediate(setting: Setting) -> int:
    """Width of the feed-forward that one token passes."""
    experts = setting.shape.experts
    if experts is None:
        return setting.shape.intermediate_size
    return (experts.top_k + experts.shared) * experts.intermediate_size
