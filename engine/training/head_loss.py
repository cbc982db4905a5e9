"""Head and cross-entropy in one: the logits of all positions are never in memory at once.

A block of positions at a time is multiplied with the head, turned into its loss, and at once into the gradients of
hidden states and weights, which wait for the backward pass. With tensor parallelism each process holds a part of the
vocabulary; only sums over it are exchanged.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

BLOCK = 1 << 22
"""Logits in memory at once: 16 MiB in fp32."""


def head_loss(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Sum of -log p(target) over all positions, fp32 scalar.

    hidden: [positions, hidden size]; weight: [vocabulary, hidden size], a DTensor when the vocabulary is split;
    targets: int64 [positions], every one of them counts.
    """
    group, start = None, 0
    if isinstance(weight, DTensor):
        mesh = weight.device_mesh
        group = mesh.get_group()
        start = -(-weight.shape[0] // mesh.size()) * mesh.get_local_rank()
        weight = weight.to_local()
    result: Tensor = _HeadLoss.apply(hidden, weight, targets, group, start)  # type: ignore[no-untyped-call]
    return result


class _HeadLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, group: Any, start: int) -> Tensor:
        wants_hidden, wants_weight = ctx.needs_input_grad[:2]
        total = hidden.new_zeros((), dtype=torch.float32)
        d_hidden = torch.empty_like(hidden) if wants_hidden else None
        d_weight = torch.zeros_like(weight, dtype=torch.float32) if wants_weight else None
        rows = max(1, BLOCK // max(1, weight.shape[0]))
        for at in range(0, len(hidden), rows):
            part, aims = hidden[at : at + rows], targets[at : at + rows] - start
            loss, slope = _block(part @ weight.T, aims, group, wants_hidden or wants_weight)
            total += loss
            if slope is None:
                continue
            slope = slope.to(weight.dtype)
            if d_hidden is not None:
                torch.mm(slope, weight, out=d_hidden[at : at + rows])
            if d_weight is not None:
                d_weight += slope.T @ part
        if d_hidden is not None and group is not None:
            dist.all_reduce(d_hidden, group=group)
        ctx.save_for_backward(d_hidden, None if d_weight is None else d_weight.to(weight.dtype))
        return total

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> tuple[Tensor | None, ...]:
        d_hidden, d_weight = ctx.saved_tensors
        slope = slopes[0]
        hidden = None if d_hidden is None else d_hidden.mul_(slope)
        weight = None if d_weight is None else d_weight.mul_(slope)
        return hidden, weight, None, None, None


def _block(logits: Tensor, aims: Tensor, group: Any, wants_slope: bool) -> tuple[Tensor, Tensor | None]:
    """Loss of some positions, and the slope by their logits. aims: targets counted from this part's first word."""
    logits = logits.float()
    largest = logits.amax(dim=-1)
    if group is not None:
        dist.all_reduce(largest, dist.ReduceOp.MAX, group=group)
    logits -= largest[:, None]
    mine = (aims >= 0) & (aims < logits.shape[1])
    aims = aims.clamp(0, logits.shape[1] - 1)
    chosen = logits.gather(1, aims[:, None]).squeeze(1) * mine
    weights = logits.exp_()
    sums = weights.sum(dim=-1)
    if group is not None:
        both = torch.stack((chosen, sums))
        dist.all_reduce(both, group=group)
        chosen, sums = both
    loss = (sums.log() - chosen).sum()
    if not wants_slope:
        return loss, None
    slope = weights.div_(sums[:, None])
    slope.scatter_add_(1, aims[:, None], -mine.to(slope.dtype)[:, None])
    return loss, slope
