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
        return sum(self.parts().values())

    @property
    def used(self) -> float:
        """Without the runtime: what is compared with the usable memory."""
        return self.total - self.runtime

    def parts(self) -> dict[str, float]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def gib(self) -> dict[str, float]:
        return {name: size / GIB for name, size in self.parts().items()}
