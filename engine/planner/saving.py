"""What the checkpoints of a run take on the disk."""

from __future__ import annotations

from dataclasses import dataclass

from engine.architecture import Architecture
from engine.planner.ask import Ask
from engine.planner.memory.adapters import megatron_adapters, separate_adapters
from engine.planner.memory.constants import FP32, MOMENTS, OPTIMIZER, WEIGHT
from engine.planner.memory.parameters import count
from engine.run_folder import KEPT_CHECKPOINTS

SAVE_TIMEOUT_MINUTES = 36
"""Nodes that have saved wait this long for the others (vendor's list of known errors)."""


@dataclass(frozen=True)
class Saved:
    size: float
    """Bytes of one checkpoint."""
    count: int
    """How many are there at once: those that are kept, and the next one while it is being written."""
    beside: float = 0.0
    """Bytes of weights that the run writes in other forms: converted before the training, and its result."""

    @property
    def needed(self) -> float:
        return self.size * self.count + self.beside


def saved(ask: Ask) -> Saved | None:
    """None where the model's dimensions are not known. Adapters are taken on every linear layer.

    native: fp32 weights and two moments of every trained parameter, the newest few. MindSpeed-LLM: bf16 weights and
    the optimizer's three fp32 states; LLaMA-Factory (DeepSpeed): the same. Both delete none of their own accord.
    """
    shape, train = ask.shape, ask.spec.train
    if shape is None:
        return None
    trained = _trained(ask, shape)
    written = None if train.train_iters is None else -(-train.train_iters // train.save_interval)
    if ask.spec.framework == "native":
        most = KEPT_CHECKPOINTS + 1
        return Saved((FP32 + MOMENTS) * trained, most if written is None else min(most, written))
    weights = WEIGHT * count(shape).total
    forms = {"mindspeed-llm": 2, "llama-factory": int(train.strategy == "full")}[ask.spec.framework]
    return Saved((WEIGHT + OPTIMIZER) * trained, written or 1, forms * weights)


def _trained(ask: Ask, shape: Architecture) -> int:
    train, counts = ask.spec.train, count(shape)
    if train.strategy == "full":
        return counts.total if ask.spec.framework == "native" else counts.text
    if ask.spec.framework == "mindspeed-llm":
        return megatron_adapters(shape, train.lora.rank, counts.dense_layers, counts.moe_layers)
    return separate_adapters(shape, train.lora.rank)


def nodes_of(ask: Ask) -> int:
    """Machines that the devices of a request are spread over; 1 where the hardware is not known."""
    return 1 if ask.hardware is None else -(-ask.spec.devices // ask.hardware.devices_per_node)


def seconds_to_write(ask: Ask, megabytes_per_second: float) -> float | None:
    """Of one checkpoint, each machine writing its part at this speed; None where the size is not known."""
    found = saved(ask)
    return None if found is None else found.size / nodes_of(ask) / (megabytes_per_second * 1e6)
