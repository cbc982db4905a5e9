"""AdamW and the clipping of gradients, with Megatron-LM's usual settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor

BETAS = (0.9, 0.95)
EPSILON = 1e-8
WEIGHT_DECAY = 0.1
"""On matrices only: a norm's gain or a bias pulled to zero would bend the model, not regularise it."""
CLIP = 1.0


def adamw(parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.AdamW:
    """torch's AdamW (the fused ones of some devices keep stale gradient buffers).

    Plain tensors and tensors spread over different meshes get groups of their own: one group is updated in one go.
    """
    groups: dict[tuple[bool, Any], list[nn.Parameter]] = {}
    for parameter in parameters:
        if parameter.requires_grad:
            mesh = parameter.device_mesh if isinstance(parameter, DTensor) else None
            groups.setdefault((parameter.ndim >= 2, mesh), []).append(parameter)
    settings = [
        {"params": members, "weight_decay": WEIGHT_DECAY if matrices else 0.0}
        for (matrices, _), members in groups.items()
    ]
    return torch.optim.AdamW(settings, lr=learning_rate, betas=BETAS, eps=EPSILON)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def clipping(norm: float, limit: float = CLIP) -> float:
    """What gradients of this common L2 norm are multiplied with, so that it is at most `limit`.

    A norm that is not finite leaves them alone: the step is skipped.
    """
    return limit / (norm + 1e-6) if limit < norm < float("inf") else 1.0
