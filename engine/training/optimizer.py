"""AdamW and the clipping of gradients, with Megatron-LM's usual settings."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

BETAS = (0.9, 0.95)
EPSILON = 1e-8
WEIGHT_DECAY = 0.1
"""On matrices only: a norm's gain or a bias pulled to zero would bend the model, not regularise it."""
CLIP = 1.0


def adamw(parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.AdamW:
    """torch's AdamW (the fused ones of some devices keep stale gradient buffers)."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=BETAS, eps=EPSILON)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def clip_gradients(gradients: list[torch.Tensor], limit: float = CLIP) -> float:
    """Scale gradients in place so that their common L2 norm is at most `limit`; returns the norm before.

    A norm that is not finite leaves them alone: the step is skipped.
    """
    norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
    if limit < norm < float("inf"):
        torch._foreach_mul_(gradients, limit / (norm + 1e-6))
    return norm
