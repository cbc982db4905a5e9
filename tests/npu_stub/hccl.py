"""A process group by the name of "hccl" that sends the memory of "npu" tensors through gloo."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.utils._pytree import tree_map

from tests.npu_stub.device import CALLS, host

SAME = (
    "allreduce", "allgather", "broadcast", "reduce", "reduce_scatter", "_allgather_base", "_reduce_scatter_base",
    "alltoall", "alltoall_base", "send", "recv", "barrier", "gather", "scatter", "allreduce_coalesced",
    "allgather_into_tensor_coalesced", "reduce_scatter_tensor_coalesced", "allgather_coalesced",
)  # fmt: skip
RENAMED = {
    "all_gather_single": "_allgather_base",
    "reduce_scatter_single": "_reduce_scatter_base",
    "all_to_all_single": "alltoall_base",
    "all_gather_single_coalesced": "allgather_into_tensor_coalesced",
    "reduce_scatter_single_coalesced": "reduce_scatter_tensor_coalesced",
}
"""What torch 2.13 calls → what gloo's group has."""


class Group(dist.ProcessGroup):
    """Collectives on "npu" tensors, done by gloo on views of the same memory."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self.gloo = dist.ProcessGroupGloo(dist.PrefixStore("stand-in", store), rank, size, timeout)

    def getBackendName(self) -> str:
        return "hccl"

    def _get_backend(self, device: Any) -> Group:
        return self  # torch_npu's own batch_isend_irecv asks for it

    @property
    def pg_name(self) -> str:
        return dist.distributed_c10d._world.pg_names[self]

    @property
    def group_name(self) -> str:
        return self.pg_name

    def batch_isend_irecv(self, kinds: list[str], tensors: list[Any], peers: list[int]) -> Works:
        """torch_npu's own addition: point-to-point operations in one go."""
        CALLS["hccl::batch_isend_irecv"] += 1
        started = []
        for kind, tensor, peer in zip(kinds, tensors, peers, strict=True):
            begin = self.gloo.send if "send" in kind else self.gloo.recv
            started.append(begin([host(tensor)], peer, 0))
        return Works(started)


class Works:
    """Several operations that are waited for as one."""

    def __init__(self, started: list[Any]) -> None:
        self._started = started

    def wait(self, *_: Any) -> bool:
        for one in self._started:
            one.wait()
        return True

    def is_completed(self) -> bool:
        return all(one.is_completed() for one in self._started)


def _through_gloo(name: str, inner: str) -> Callable[..., Any]:
    def collective(self: Group, *args: Any, **kwargs: Any) -> Any:
        CALLS[f"hccl::{name}"] += 1
        return getattr(self.gloo, inner)(*tree_map(host, args), **tree_map(host, kwargs))

    return collective


for _name, _inner in {**dict(zip(SAME, SAME, strict=True)), **RENAMED}.items():
    setattr(Group, _name, _through_gloo(_name, _inner))


def install() -> None:
    """Take the place of the back end that torch_npu has registered, so that nobody has to ask for another name."""
    dist.Backend._plugins["HCCL"] = dist.Backend._BackendPlugin(Group, False)
