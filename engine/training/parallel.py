"""Data parallelism over torch.distributed (gloo); one process needs none of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class Replicas:
    """This process among its peers."""

    rank: int
    size: int

    @property
    def first(self) -> bool:
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module with gradients summed over the replicas during the backward pass."""
        if self.size == 1:
            return module
        wrapped = DistributedDataParallel(module, gradient_as_bucket_view=True, forward_sync_buffers=False)
        wrapped.register_comm_hook(None, lambda _, bucket: _sum(bucket))
        return wrapped

    def any(self, value: bool) -> bool:
        """True on every replica when it is on one of them."""
        return self.total(float(value)) > 0

    def total(self, value: float) -> float:
        """The sum over the replicas."""
        if self.size == 1:
            return value
        tensor = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(tensor)
        return float(tensor)

    def barrier(self) -> None:
        if self.size > 1:
            dist.barrier()


def without_sync(module: nn.Module, last: bool) -> AbstractContextManager[Any]:
    """While gradients are accumulated only the last micro-batch has to talk to the others."""
    if last or not isinstance(module, DistributedDataParallel):
        return nullcontext()
    return module.no_sync()


def _sum(bucket: Any) -> torch.futures.Future[torch.Tensor]:
    """Add up a `GradBucket` over all replicas: a sum, not a mean, since each loss is already divided by the
    trained tokens of the whole global batch."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])  # type: ignore[no-any-return]


@contextmanager
def joined() -> Iterator[Replicas]:
    """Join the peers that torchrun has started, and share the processor's cores with them."""
    size, local = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // local))
    if size == 1:
        yield Replicas(rank=0, size=1)
        return
    dist.init_process_group("gloo")
    try:
        yield Replicas(rank=dist.get_rank(), size=size)
    finally:
        dist.destroy_process_group()
