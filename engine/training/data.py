"""Which samples make up an iteration, and how a micro-batch is laid out.

The order depends on the seed alone: global batch k holds the same samples whatever the number of
replicas, so that a run on two processes and a run on one do the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from engine.preprocess.store import IGNORED, Sequence, TokenStore


@dataclass(frozen=True)
class Shape:
    """How a global batch is cut: accumulation steps x replicas x micro-batch."""

    micro_batch_size: int
    accumulation_steps: int
    replicas: int

    @property
    def global_batch_size(self) -> int:
        return self.micro_batch_size * self.accumulation_steps * self.replicas


class Order:
    """An endless stream of sample numbers: epoch after epoch, each shuffled by (seed, epoch)."""

    def __init__(self, samples: int, seed: int) -> None:
        self._samples, self._seed = samples, seed
        self._epoch, self._shuffled = -1, np.empty(0, np.int64)

    def batch(self, iteration: int, size: int) -> NDArray[np.int64]:
        """Sample numbers of global batch `iteration` (from 0): [size]. A batch may span several epochs."""
        chosen, filled, place = np.empty(size, np.int64), 0, iteration * size
        while filled < size:
            epoch, index = divmod(place + filled, self._samples)
            part = self._epoch_order(epoch)[index : index + size - filled]
            chosen[filled : filled + len(part)] = part
            filled += len(part)
        return chosen

    def _epoch_order(self, epoch: int) -> NDArray[np.int64]:
        if epoch != self._epoch:
            self._epoch = epoch
            self._shuffled = np.random.default_rng([self._seed, epoch]).permutation(self._samples)
        return self._shuffled


@dataclass(frozen=True)
class MicroBatch:
    """input_ids and labels: int64 [micro_batch_size, longest row], padded at the end.

    inputs: what else the model needs: `position_ids` of the same shape, counted anew in each sample, where samples
    share a row.
    """

    input_ids: torch.Tensor
    labels: torch.Tensor
    inputs: dict[str, torch.Tensor] = field(default_factory=dict)


def micro_batches(
    store: TokenStore, chosen: NDArray[np.int64], shape: Shape, replica: int, width: int | None = None
) -> Iterator[MicroBatch]:
    """The part of a global batch that one replica works through; width: see `padded`."""
    cut = chosen.reshape(shape.accumulation_steps, shape.replicas, shape.micro_batch_size)
    for step in range(shape.accumulation_steps):
        yield padded([store[int(index)] for index in cut[step, replica]], width)


def padded(rows: list[Sequence], width: int | None = None) -> MicroBatch:
    """Pad to the longest row only: with causal attention, what stands behind a row cannot change it.

    width: pad every micro-batch to this length instead, and give each its positions, so that all look alike.
    """
    alike = width is not None
    width = width or max(len(row.ids) for row in rows)
    ids = np.zeros((len(rows), width), np.int64)
    labels = np.full((len(rows), width), IGNORED, np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row.ids)] = row.ids
        labels[number, : len(row.labels)] = row.labels
    together = alike or any(len(row.lengths) > 1 for row in rows)
    inputs = {"position_ids": _positions(rows, width)} if together else {}
    return MicroBatch(torch.from_numpy(ids), torch.from_numpy(labels), inputs)


def _positions(rows: list[Sequence], width: int) -> torch.Tensor:
    """Padding counts on from the last token, as if it were that sample's end."""
    positions = np.empty((len(rows), width), np.int64)
    for number, row in enumerate(rows):
        places = row.positions
        positions[number, : len(places)] = places
        positions[number, len(places) :] = np.arange(width - len(places)) + places[-1] + 1
    return torch.from_numpy(positions)
