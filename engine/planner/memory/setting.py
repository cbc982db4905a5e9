"""`Setting`: what beside the layout decides the memory of a job."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.architecture import Architecture


@dataclass(frozen=True, kw_only=True)
class Setting:
    framework: str
    shape: Architecture
    seq_length: int
    micro_batch_size: int
    lora_rank: int | None
    """Null: every parameter is trained."""
    memory_gib: float | None
    """Nominal memory of a device; null where it is not known (a CPU process shares its machine's)."""
    on_cpu: bool = False

    def with_micro_batch(self, size: int) -> Setting:
        return replace(self, micro_batch_size=size)
