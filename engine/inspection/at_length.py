"""What each sequence length would do to the rows, counted in one pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.dataset_report import AtLength
from engine.inspection.lengths import LengthCounts
from engine.inspection.packing import packed_sequences
from engine.inspection.rows import Learnt

USUAL = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)


class _Count:
    """Of the rows that are longer than one sequence length."""

    def __init__(self, seq_length: int) -> None:
        self.seq_length = seq_length
        self.longer = 0
        self.at = 0
        self.dropped = 0
        self.lost = 0
        self.trained_lost = 0

    def add(self, learnt: Learnt) -> None:
        size, limit = len(learnt), self.seq_length
        self.at += size == limit
        if size <= limit:
            return
        self.longer += 1
        kept = int(np.count_nonzero(learnt[:limit]))
        self.dropped += not kept
        self.lost += size - limit if kept else size
        self.trained_lost += int(np.count_nonzero(learnt)) - kept


class AtLengths:
    """Counts for the usual lengths and the asked one. Not above `lengths.EXACT`."""

    def __init__(self, asked: int | None) -> None:
        self._asked = asked
        wanted = {*USUAL} if asked is None else {*USUAL, asked}
        self._counts = [_Count(length) for length in sorted(wanted)]
        self._least = self._counts[0].seq_length

    def add(self, learnt: Learnt) -> None:
        if len(learnt) >= self._least:
            for count in self._counts:
                count.add(learnt)

    def rows(self, lengths: LengthCounts, packed: int | None) -> Iterator[AtLength]:
        """lengths: of the same rows, in tokens; packed: sequences of the asked length, as preprocessing makes them."""
        for count in self._counts:
            asked = count.seq_length == self._asked
            yield _at(count, lengths, packed if asked else None, asked=asked)

    def joined(self, lengths: LengthCounts) -> Iterator[AtLength]:
        """For documents: one behind the other, each with an end token, split into equal samples; nothing is lost."""
        stream = lengths.total + lengths.rows
        for count in self._counts:
            sequences = stream // count.seq_length + (stream % count.seq_length > 1)  # one token predicts nothing
            padding = _share(max(0, sequences * count.seq_length - stream), sequences * count.seq_length)
            yield AtLength(
                seq_length=count.seq_length,
                asked=count.seq_length == self._asked,
                rows_whole=lengths.rows - count.longer,
                rows_cut=count.longer,
                rows_dropped=0,
                rows_at_or_over=count.longer + count.at,
                tokens_lost=0,
                trained_tokens_lost=0,
                sequences=sequences,
                padding_share=padding,
                packed_sequences=sequences,
                packed_padding_share=padding,
            )


def _at(count: _Count, lengths: LengthCounts, packed: int | None, *, asked: bool) -> AtLength:
    limit, cut = count.seq_length, count.longer - count.dropped
    kept = lengths.rows - count.dropped
    tokens = lengths.total - count.lost
    if packed is None:
        packed = packed_sequences(_kept_counts(lengths, limit, cut), limit)
    return AtLength(
        seq_length=limit,
        asked=asked,
        rows_whole=lengths.rows - count.longer,
        rows_cut=cut,
        rows_dropped=count.dropped,
        rows_at_or_over=count.longer + count.at,
        tokens_lost=count.lost,
        trained_tokens_lost=count.trained_lost,
        sequences=kept,
        padding_share=_share(kept * limit - tokens, kept * limit),
        packed_sequences=packed,
        packed_padding_share=_share(packed * limit - tokens, packed * limit),
    )


def _kept_counts(lengths: LengthCounts, limit: int, cut: int) -> Iterator[tuple[int, int]]:
    at_limit = cut
    for length, rows in lengths.counts(limit):
        if length == limit:
            at_limit += rows
        elif length:
            yield length, rows
    yield limit, at_limit


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0
