"""Mixed precision: parameters, gradients and the optimizer in fp32, matrix products in bf16 or fp16.

fp16 needs its loss scaled. torch's GradScaler finds an overflow on each process for itself, so that processes that
hold parts of one model could disagree; here the norm of all gradients, which they share anyway and which is not finite
after an overflow, decides for all of them. The rules are GradScaler's: half after an overflow, double after a while
without one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import torch

from engine.devices.device import Device
from engine.failures import Failure

Name = Literal["fp32", "bf16", "fp16"]
DTYPES: dict[Name, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
FIRST_SCALE = 2.0**16
LARGEST_SCALE = 2.0**24
GROWTH_INTERVAL = 2000


@dataclass
class LossScale:
    """The factor of the loss. Its state belongs into the checkpoint."""

    value: float = FIRST_SCALE
    steps: int = 0
    """Updates without an overflow since it was last changed."""

    def update(self, finite: bool) -> None:
        if not finite:
            self.value, self.steps = max(1.0, self.value / 2), 0
        elif self.steps + 1 == GROWTH_INTERVAL:
            self.value, self.steps = min(LARGEST_SCALE, self.value * 2), 0
        else:
            self.steps += 1


class Precision:
    """What a training does around its forward pass, its backward pass and its update."""

    def __init__(self, name: Name, device: Device) -> None:
        """Raises Failure `device.no_precision` where the device has no such products."""
        if not device.computes_in(DTYPES[name]):
            raise Failure("device.no_precision", "hardware", "user", precision=name, kind=device.kind)
        self.name: Name = name
        self.dtype = DTYPES[name]
        self._device = device
        self.loss_scale = LossScale() if name == "fp16" else None

    def autocast(self) -> AbstractContextManager[Any]:
        """Around the forward pass and the loss; not around the backward pass."""
        if self.name == "fp32":
            return nullcontext()
        return torch.autocast(self._device.kind, dtype=self.dtype)

    @property
    def scale(self) -> float:
        """The loss scale now; 1 where none is needed."""
        return 1.0 if self.loss_scale is None else self.loss_scale.value

    def scaled(self, loss: torch.Tensor) -> torch.Tensor:
        """The loss to call `backward` on."""
        return loss if self.loss_scale is None else loss * self.loss_scale.value

    @torch.no_grad()
    def unscale(self, gradients: Iterable[torch.Tensor]) -> None:
        """Take the scale out of the gradients in place: before their norm is measured and clipped."""
        if self.loss_scale is not None:
            torch._foreach_mul_(list(gradients), 1.0 / self.loss_scale.value)

    def update(self, norm: float) -> bool:
        """Tell it the norm of all gradients, the same on every process; returns whether to take the step."""
        finite = math.isfinite(norm)
        if self.loss_scale is not None:
            self.loss_scale.update(finite)
        return finite

    def state(self) -> dict[str, float]:
        """For the checkpoint; empty where there is nothing to keep."""
        return {} if self.loss_scale is None else {"value": self.loss_scale.value, "steps": self.loss_scale.steps}

    def restore(self, state: dict[str, float]) -> None:
        """Go on from `state()`."""
        if self.loss_scale is not None and state:
            self.loss_scale = LossScale(float(state["value"]), int(state["steps"]))
