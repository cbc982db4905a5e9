"""`Breakdown`: what the memory of the fullest device goes to."""

from __future__ import annotations

from dataclasses import dataclass, fields

from engine.planner.memory.constants import GIB


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """Bytes on one device at the peak. `runtime` is what a job cannot use: see `device.overhead`."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    buffers: float
    runtime: float

    @property
    def total(self) -> float:
        return self.used + self.runtime

    @property
    def used(self) -> float:
        """Without the runtime: what is compared with the usable memory."""
        static = self.weights + self.gradients + self.optimizer
        return static + self.activations + self.logits + self.buffers

    def parts(self) -> dict[str, float]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def gib(self) -> dict[str, float]:
        return {name: size / GIB for name, size in self.parts().items()}
