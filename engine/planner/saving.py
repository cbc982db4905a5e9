"""What the checkpoints of a run take on the disk."""

from __future__ import annotations

from dataclasses import dataclass

from engine.planner.ask import Ask
from engine.planner.memory.adapters import separate_adapters
from engine.planner.memory.constants import FP32, MOMENTS
from engine.planner.memory.parameters import count
from engine.run_folder import KEPT_CHECKPOINTS


@dataclass(frozen=True)
class Saved:
    size: float
    """Bytes of one checkpoint."""
    count: int
    """How many are there at once: those that are kept, and the next one while it is being written."""


def saved(ask: Ask) -> Saved | None:
    """Of a native job: fp32 weights and two moments of every trained parameter, adapters taken on every linear layer.

    None where the model's dimensions are not known.
    """
    shape, train = ask.shape, ask.spec.train
    if shape is None:
        return None
    lora = train.strategy == "lora"
    trained = separate_adapters(shape, train.lora.rank) if lora else count(shape).total
    most = KEPT_CHECKPOINTS + 1
    if train.train_iters is not None:
        most = min(most, -(-train.train_iters // train.save_interval))
    return Saved((FP32 + MOMENTS) * trained, most)
