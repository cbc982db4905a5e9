"""How long rows are: exact counts in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.dataset_report import Bar, Lengths, Unit

EXACT = 1 << 18
"""Up to here each length is counted for itself; above, lengths are kept to ten binary digits."""
_KEPT_BITS = 10


class LengthCounts:
    """Counts rows by length."""

    def __init__(self) -> None:
        self._exact: NDArray[np.int64] = np.zeros(EXACT + 1, dtype=np.int64)
        self._above: dict[int, int] = {}
        self.rows = 0
        self.total = 0
        self.longest = 0

    def add(self, lengths: Iterable[int]) -> None:
        for length in lengths:
            self.rows += 1
            self.total += length
            self.longest = max(self.longest, length)
            if length <= EXACT:
                self._exact[length] += 1
            else:
                key = _rounded(length)
                self._above[key] = self._above.get(key, 0) + 1

    def counts(self, most: int) -> Iterator[tuple[int, int]]:
        """(length, rows) upwards, for lengths up to `most`."""
        found = np.nonzero(self._exact[: most + 1])[0]
        yield from zip(found.tolist(), self._exact[found].tolist(), strict=True)
        yield from ((length, rows) for length, rows in sorted(self._above.items()) if length <= most)

    def summary(self, unit: Unit) -> Lengths:
        if not self.rows:
            return Lengths(unit=unit)
        pairs = list(self.counts(self.longest))
        cumulative = np.cumsum([rows for _, rows in pairs])
        points = {f"p{share}": pairs[_rank(cumulative, share)][0] for share in (50, 90, 95, 99)}
        return Lengths(
            unit=unit,
            total=self.total,
            shortest=pairs[0][0],
            mean=round(self.total / self.rows, 2),
            longest=self.longest,
            histogram=tuple(_bars(pairs)),
            **points,
        )


def _rounded(length: int) -> int:
    shift = length.bit_length() - _KEPT_BITS
    return length >> shift << shift


def _rank(cumulative: NDArray[np.int64], share: int) -> int:
    """Place of the row below or at which `share` percent of the rows are (the nearest rank)."""
    wanted = -(-int(cumulative[-1]) * share // 100)
    return int(np.searchsorted(cumulative, wanted))


def _bars(pairs: list[tuple[int, int]]) -> Iterator[Bar]:
    """Bars of a width of 1, 2 or 5 times a power of ten: about forty of them up to the 99th percentile, one beyond."""
    lengths = np.array([length for length, _ in pairs])
    rows = np.array([count for _, count in pairs])
    cumulative = np.cumsum(rows)
    far = int(lengths[_rank(cumulative, 99)])
    width = _width(far / 40)
    edges = [*range(0, far + 1, width), far // width * width + width]
    for start, end in pairwise(edges):
        yield Bar(start=start, end=end, rows=int(rows[(lengths >= start) & (lengths < end)].sum()))
    if (beyond := int(rows[lengths >= edges[-1]].sum())) > 0:
        yield Bar(start=edges[-1], end=int(lengths[-1]) + 1, rows=beyond)


def _width(least: float) -> int:
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= least:
                return step * power
        power *= 10
