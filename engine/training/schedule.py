"""The learning rate over a run: linear warm-up, then a cosine down to the minimum (Megatron's `cosine`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

WARMUP_SHARE = 10
LONGEST_WARMUP = 500


@dataclass(frozen=True)
class Schedule:
    peak: float
    minimum: float
    train_iters: int

    @property
    def warmup_iters(self) -> int:
        """A tenth of the run, at most 500 iterations: later the statistics of AdamW are settled anyway."""
        return min(self.train_iters // WARMUP_SHARE, LONGEST_WARMUP)

    def rate(self, step: int) -> float:
        """Learning rate of update number `step`, from 1."""
        if step <= self.warmup_iters:
            return self.peak * step / self.warmup_iters
        done = (step - self.warmup_iters) / max(self.train_iters - self.warmup_iters, 1)
        return self.minimum + (self.peak - self.minimum) * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
