"""Rows of the same content, found without keeping the rows: 16 bytes of hash each, on disk beyond a few megabytes.

The hashes are dealt out to parts by their first bits, so that one part after the other can be sorted in memory:
10 million rows take 400 MB of disk and less than 100 MB of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from struct import Struct
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from engine.dataset_report import Duplicates, Pair, Place

_PARTS = 64
_IN_MEMORY = 1 << 20
"""Bytes of a part that stay in memory before it goes to disk."""
_ENTRY = np.dtype([("high", "<u8"), ("low", "<u8"), ("row", "<u8"), ("line", "<u8"), ("file", "<u4")])
_REST = Struct("<QQI")


class DuplicateFinder:
    """Collects the hashes of rows; a context manager, since it holds files."""

    def __init__(self) -> None:
        self._parts: list[IO[bytes]] = [
            SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (closed in __exit__)
            for _ in range(_PARTS)
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for part in self._parts:
            part.close()

    def add(self, content: bytes, place: Place) -> None:
        digest = blake2b(content, digest_size=16).digest()
        self._parts[digest[0] % _PARTS].write(digest + _REST.pack(place.row, place.line, place.file))

    def found(self, examples: int) -> Duplicates:
        """How many rows repeat an earlier one, with the pairs that come first in the dataset."""
        rows, pairs = 0, []
        for part in self._parts:
            part.seek(0)
            entries = np.frombuffer(part.read(), dtype=_ENTRY)
            again, first = _repeats(entries)
            rows += len(again)
            order = np.argsort(entries["row"][again], kind="stable")[:examples]
            pairs += list(_pairs(entries, first[order], again[order]))
        pairs.sort(key=lambda pair: pair.again.row)
        return Duplicates(rows=rows, examples=tuple(pairs[:examples]))


def _repeats(entries: NDArray[np.void]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the entries that repeat an earlier one, and for each the place of the first of its kind."""
    order = np.lexsort((entries["row"], entries["low"], entries["high"]))
    ordered = entries[order]
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = (ordered["high"][1:] != ordered["high"][:-1]) | (ordered["low"][1:] != ordered["low"][:-1])
    first = order[np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))] if len(order) else order
    return order[~starts], first[~starts]


def _pairs(
    entries: NDArray[np.void], first: Sequence[int] | NDArray[np.int64], again: NDArray[np.int64]
) -> Iterator[Pair]:
    for one, other in zip(first, again, strict=True):
        yield Pair(first=_place(entries[one]), again=_place(entries[other]))


def _place(entry: np.void) -> Place:
    return Place(file=int(entry["file"]), row=int(entry["row"]), line=int(entry["line"]))
