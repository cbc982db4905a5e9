"""The gradients of a global batch, and their norm over all processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import DTensor

from engine.training.data import MicroBatch
from engine.training.piece import Piece
from engine.training.splitting.shards import last_of_batch, sum_gradients
from engine.training.splitting.tensor import local, sum_partial
from engine.training.world import World


class Work(Protocol):
    """Adds the gradients of micro-batches to the parameters; returns this process's part of the loss."""

    def __call__(self, batches: Sequence[MicroBatch], tokens: int) -> float: ...


def work(piece: nn.Module, world: World, device: torch.device, steps: int) -> Work:
    """How this layout gets its gradients. steps: micro-batches of one process in a global batch."""
    if world.layout.pipeline_parallel_size == 1:
        return Direct(piece, world)
    return Pipelined(piece, world, device, steps)


class Direct:
    """Every process has the whole depth of the model: forward and backward, micro-batch by micro-batch."""

    def __init__(self, piece: nn.Module, world: World) -> None:
        self._piece, self._world = piece, world

    def __call__(self, batches: Sequence[MicroBatch], tokens: int) -> float:
        total = 0.0
        for number, batch in enumerate(batches, start=1):
            with last_of_batch(self._piece, self._world, number == len(batches)):
                loss = self._piece(batch.input_ids, batch.labels, tokens=float(tokens), **batch.inputs)
                loss.backward()
            total += float(loss.detach())
        _sum(self._piece, self._world)
        return total if self._world.place("tp") == 0 else 0.0


class Pipelined:
    """One forward, one backward (1F1B): while a piece works on one micro-batch the others work on theirs.

    All micro-batches have the same shape.
    """

    def __init__(self, piece: nn.Module, world: World, device: torch.device, steps: int) -> None:
        group = world.along("pp").get_group()
        pieces = world.layout.pipeline_parallel_size
        stage = PipelineStage(piece, world.place("pp"), pieces, device, group=group)
        kind = Schedule1F1B if steps >= pieces else ScheduleGPipe  # too few to overlap: all forward, all back
        self._schedule = kind(stage, steps, loss_fn=lambda loss, _: loss, scale_grads=False)
        self._piece, self._world = piece, world

    def __call__(self, batches: Sequence[MicroBatch], tokens: int) -> float:
        labels = torch.cat([batch.labels for batch in batches])
        inputs = {key: torch.cat([batch.inputs[key] for batch in batches]) for key in batches[0].inputs}
        start = (torch.cat([batch.input_ids for batch in batches]),) if self._world.first_piece else ()
        losses: list[torch.Tensor] = []
        named: dict[str, Any] = {**inputs, "labels": labels, "tokens": float(tokens)}
        if self._world.last_piece:
            named |= {"target": labels, "losses": losses}
        self._schedule.step(*start, return_outputs=False, **named)
        _sum_tied(self._piece, self._world)
        _sum(self._piece, self._world)
        return sum(float(loss.detach()) for loss in losses) if self._world.place("tp") == 0 else 0.0


def _sum(piece: nn.Module, world: World) -> None:
    """What the backward pass has not summed: parts of tensor-parallel peers, then those of replicas."""
    if world.layout.tensor_parallel_size > 1:
        sum_partial(piece, world.along("tp").get_group())
    sum_gradients(piece, world)


def _sum_tied(piece: nn.Module, world: World) -> None:
    """The first piece's embedding and the last one's head are one matrix: each gets the gradients of both."""
    weight = tied_weight(piece)
    if weight is not None and world.ends is not None:
        assert weight.grad is not None
        gradient: Any = weight.grad
        if isinstance(weight, DTensor):  # an embedding's gradient is whole, even where its weight is split
            weight.grad = gradient = gradient.redistribute(placements=weight.placements)
        dist.all_reduce(local(gradient), group=world.ends)


def tied_weight(piece: nn.Module) -> nn.Parameter | None:
    """The matrix that is both embedding and head, if the model has such a one and it is trained."""
    assert isinstance(piece, Piece)
    if not piece.model.config.tie_word_embeddings or not (piece.first or piece.last):
        return None
    base: Any = piece.model.base_model
    weight: nn.Parameter = base.embed_tokens.weight
    return weight if weight.requires_grad else None


def squared_norm(piece: nn.Module, parameters: Iterable[nn.Parameter], world: World) -> float:
    """This process's share of the squared L2 norm of all gradients: the shares of all processes add up to it."""
    layout = world.layout
    holders = layout.data_parallel_size * layout.tensor_parallel_size
    shared = tied_weight(piece) if layout.pipeline_parallel_size > 1 else None
    by_weight: dict[float, list[torch.Tensor]] = {}
    for parameter in parameters:
        if parameter.grad is not None:
            copies = holders / _parts(parameter.grad) * (2 if parameter is shared else 1)
            by_weight.setdefault(1 / copies, []).append(local(parameter.grad))
    norms = {share: torch.linalg.vector_norm(torch.stack(torch._foreach_norm(g))) for share, g in by_weight.items()}
    return float(sum(share * norm.double() ** 2 for share, norm in norms.items()))


def _parts(gradient: torch.Tensor) -> int:
    """Into how many parts a tensor is cut; where it is not, every process holds a copy."""
    parts = 1
    if isinstance(gradient, DTensor):
        for number, placement in enumerate(gradient.placements):
            parts *= 1 if placement.is_replicate() else gradient.device_mesh.size(number)
    return parts


def scale(parameters: Iterable[nn.Parameter], factor: float) -> None:
    """Multiply every gradient, in place."""
    gradients: list[Any] = [local(parameter.grad) for parameter in parameters if parameter.grad is not None]
    torch._foreach_mul_(gradients, factor)
