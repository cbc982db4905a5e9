"""Replicas: data parallelism, and ZeRO by FSDP2, which shards what the replicas would hold several times.

| zero_stage | sharded | how |
| --- | --- | --- |
| 0 | nothing | gradients are summed after the last micro-batch (by DDP during the backward pass where it is alone) |
| 1 | optimizer state | FSDP2; weights stay whole between forward and backward, gradients until the last micro-batch |
| 2 | and gradients | FSDP2; gradients are reduced to their shard after every micro-batch |
| 3 | and weights | FSDP2; weights are gathered layer by layer, forward and backward |

Weights beside adapters, which are not trained, are sharded in stage 3 alone.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

from engine.training.piece import Piece
from engine.training.splitting.pipeline import Elsewhere
from engine.training.splitting.tensor import local
from engine.training.world import World

BUCKET = 25 << 20
"""Elements of gradients that are summed in one go."""


def replicate(piece: Piece, world: World) -> nn.Module:
    """The piece with its replicas tied together, wrapped or changed in place."""
    layout = world.layout
    if layout.data_parallel_size == 1:
        return piece
    if layout.zero_stage > 0:
        return _sharded(piece, world)
    if layout.tensor_parallel_size == layout.pipeline_parallel_size == 1:
        wrapped = DistributedDataParallel(piece, gradient_as_bucket_view=True, forward_sync_buffers=False)
        wrapped.register_comm_hook(None, lambda _, bucket: _sum(bucket))
        return wrapped
    return piece


def _sharded(piece: Piece, world: World) -> nn.Module:
    mesh, gather_again = world.along("dp"), world.layout.zero_stage == 3
    base: Any = piece.model.base_model
    layers = [layer for layer in base.layers if not isinstance(layer, Elsewhere)]
    resting = set() if gather_again else {weight for weight in piece.parameters() if not weight.requires_grad}
    for part in (*layers, piece):
        fully_shard(part, mesh=mesh, reshard_after_forward=gather_again, ignored_params=resting)
        part.set_gradient_divide_factor(1.0)  # a sum: each loss is divided by the tokens of the whole batch already
        part.set_force_sum_reduction_for_comms(True)  # gloo and HCCL do not multiply on the way
    return piece


def last_of_batch(piece: nn.Module, world: World, last: bool) -> Any:
    """Say before a micro-batch whether it is the last one: only then do gradients have to travel.

    Returns a context to work in.
    """
    if isinstance(piece, FSDPModule):
        piece.set_requires_gradient_sync(last or world.layout.zero_stage > 1)
        piece.set_is_last_backward(last)
    if isinstance(piece, DistributedDataParallel) and not last:
        return piece.no_sync()
    return torch.enable_grad()


def sum_gradients(piece: nn.Module, world: World) -> None:
    """Where nothing does it during the backward pass: add the gradients up over the replicas."""
    layout = world.layout
    alone = layout.tensor_parallel_size == layout.pipeline_parallel_size == 1
    if layout.data_parallel_size == 1 or layout.zero_stage > 0 or alone:
        return
    group = world.along("dp").get_group()
    waiting: list[torch.Tensor] = []
    for parameter in piece.parameters():
        if parameter.grad is not None:
            waiting.append(local(parameter.grad))
            if sum(gradient.numel() for gradient in waiting) > BUCKET:
                _sum_together(waiting, group)
                waiting = []
    if waiting:
        _sum_together(waiting, group)


def _sum_together(gradients: list[torch.Tensor], group: Any) -> None:
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat, group=group)
    at = 0
    for gradient in gradients:
        gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
        at += gradient.numel()


def _sum(bucket: Any) -> torch.futures.Future[torch.Tensor]:
    """Add up a `GradBucket` over all replicas."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])  # type: ignore[no-any-return]
