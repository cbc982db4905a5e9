"""Several short samples in one sequence: which ones go together.

Best fit, longest first: each sample goes to the fullest sequence that still has room for it. At most 11/9 of the
least possible number of sequences plus one are needed (Johnson 1974, who shows it for first fit and best fit alike).
The same lengths give the same sequences, whatever the machine.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence


def pack(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Numbers of the samples of each sequence, in the order of their samples. No length is above `capacity`."""
    bins: list[list[int]] = []
    room: list[tuple[int, int]] = []  # (tokens left, number of the bin), sorted
    for number in sorted(range(len(lengths)), key=lambda one: (-lengths[one], one)):
        length = lengths[number]
        place = bisect_left(room, (length, -1))
        if place < len(room):
            left, chosen = room.pop(place)
            bins[chosen].append(number)
        else:
            left, chosen = capacity, len(bins)
            bins.append([number])
        if left > length:
            insort(room, (left - length, chosen))
    for one in bins:
        one.sort()
    bins.sort(key=lambda one: one[0])
    return bins
