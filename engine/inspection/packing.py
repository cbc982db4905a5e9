"""How many sequences of a fixed length rows make when several share one, counted from their lengths alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


def packed_sequences(counts: Iterable[tuple[int, int]], capacity: int) -> int:
    """Sequences that the greedy way needs: the longest row first, then each time the longest one that still fits.

    counts: (length, rows), each length from 1 to capacity. Equal sequences are made at once, so that the time
    depends on how many different lengths there are, not on the rows.
    """
    left = {length: rows for length, rows in counts if rows}
    lengths = sorted(left)
    made = 0
    while lengths:
        taken = _one_sequence(lengths, left, capacity)
        times = min(left[length] // number for length, number in taken.items())
        made += times
        for length, number in taken.items():
            left[length] -= times * number
            if not left[length]:
                lengths.remove(length)
    return made


def _one_sequence(lengths: list[int], left: dict[int, int], capacity: int) -> dict[int, int]:
    """Rows of one sequence: how many of each length."""
    taken: dict[int, int] = {}
    room, place = capacity, len(lengths)
    while (place := bisect_right(lengths, room, hi=place) - 1) >= 0:
        length = lengths[place]
        taken[length] = min(left[length], room // length)
        room -= length * taken[length]
    return taken
