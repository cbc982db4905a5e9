"""This process among its peers: rank, and the mesh of devices that the plan's layout asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from engine.failures import Failure
from engine.plan import Layout

AXES = ("pp", "dp", "tp")
"""Dimensions of the mesh, slowest first: tensor parallel ranks are neighbours, on the fastest links."""


@dataclass(frozen=True)
class World:
    """Rank and sizes. `mesh` has the dimensions AXES; None when this process is alone."""

    rank: int
    size: int
    layout: Layout
    mesh: DeviceMesh | None = None
    ends: dist.ProcessGroup | None = None
    """First and last piece of this process's pipeline; None elsewhere."""

    @property
    def first(self) -> bool:
        """Does this process speak for all?"""
        return self.rank == 0

    def place(self, axis: str) -> int:
        """Coordinate of this process on an axis, from 0."""
        return 0 if self.mesh is None else int(self.mesh.get_local_rank(axis))

    def along(self, axis: str) -> DeviceMesh:
        """The one-dimensional mesh of this process's peers on an axis."""
        assert self.mesh is not None
        return self.mesh[axis]

    @property
    def first_piece(self) -> bool:
        return self.place("pp") == 0

    @property
    def last_piece(self) -> bool:
        return self.place("pp") == self.layout.pipeline_parallel_size - 1

    def totals(self, values: Sequence[float]) -> list[float]:
        """Each value summed over all processes."""
        if self.size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor]

    def barrier(self) -> None:
        if self.size > 1:
            dist.barrier()


@contextmanager
def joined(layout: Layout) -> Iterator[World]:
    """Join the peers that torchrun has started, and share the processor's cores with them.

    Raises Failure `train.wrong_world` when they are not as many as the layout has devices.
    """
    size, local = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if size != layout.devices:
        raise Failure("train.wrong_world", "devices", "software", planned=layout.devices, started=size)
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // local))
    if size == 1:
        yield alone(layout)
        return
    dist.init_process_group("gloo")
    try:
        yield among_peers(layout)
    finally:
        dist.destroy_process_group()


def alone(layout: Layout) -> World:
    return World(rank=0, size=1, layout=layout)


def among_peers(layout: Layout) -> World:
    """The place in a layout of a process that has joined its peers; all of them call this together."""
    mesh = _mesh(layout)
    return World(dist.get_rank(), dist.get_world_size(), layout, mesh, _ends(mesh))


def _mesh(layout: Layout) -> DeviceMesh:
    sizes = (layout.pipeline_parallel_size, layout.data_parallel_size, layout.tensor_parallel_size)
    return init_device_mesh("cpu", sizes, mesh_dim_names=AXES)


def _ends(mesh: DeviceMesh) -> dist.ProcessGroup | None:
    """Every process takes part in the making of every group, its own or not."""
    if mesh.size(0) == 1:
        return None
    mine = None
    for first, last in zip(mesh.mesh[0].flatten().tolist(), mesh.mesh[-1].flatten().tolist(), strict=True):
        group = dist.new_group([first, last])
        if dist.get_rank() in (first, last):
            mine = group
    return mine
