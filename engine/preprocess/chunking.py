"""Where the rows that are worked on together end, and those that are packed together: it depends on the rows alone.

Whoever counts sequences without making them (`engine.inspection`) comes to the same number by these rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.formats import Broken, Sample
from engine.preprocess.packing import pack

CHUNK_ROWS, CHUNK_CHARACTERS = 500, 1 << 21
"""A chunk ends with whichever is reached first: memory is bounded by text, not by rows."""
LEAST_WINDOW, MOST_WINDOW = 1 << 20, 1 << 23
"""Tokens among which samples look for a sequence: many times `seq_length`, but never more than memory is meant for."""
SEQUENCES_IN_WINDOW = 64


class Chunk:
    """Rows so far."""

    def __init__(self) -> None:
        self._rows = self._characters = 0

    def ends_with(self, row: Sample | Broken) -> bool:
        """Take a row in; True if it is the last of its chunk."""
        self._rows += 1
        if isinstance(row, Sample):
            self._characters += len(row.text or "") + sum(len(message.content) for message in row.messages)
        if self._rows < CHUNK_ROWS and self._characters < CHUNK_CHARACTERS:
            return False
        self._rows = self._characters = 0
        return True


def chunks(rows: Iterable[Sample | Broken]) -> Iterator[list[Sample | Broken]]:
    """Rows that are worked on together."""
    chunk: list[Sample | Broken] = []
    counted = Chunk()
    for row in rows:
        chunk.append(row)
        if counted.ends_with(row):
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def window(seq_length: int) -> int:
    """Tokens that are packed together, once a chunk has made them so many."""
    return max(LEAST_WINDOW, min(SEQUENCES_IN_WINDOW * seq_length, MOST_WINDOW))


class PackedCount:
    """How many sequences preprocessing packs, from the lengths of the rows alone."""

    def __init__(self, seq_length: int) -> None:
        self._seq_length, self._window = seq_length, window(seq_length)
        self._chunk = Chunk()
        self._lengths: list[int] = []
        self._tokens = self._packed = 0

    def add(self, row: Sample | Broken, length: int = 0) -> None:
        """Each row in order. length: tokens of what is kept of it, 0 if it is not kept."""
        if length:
            self._lengths.append(length)
            self._tokens += length
        if self._chunk.ends_with(row) and self._tokens >= self._window:
            self._packed += len(pack(self._lengths, self._seq_length))
            self._lengths, self._tokens = [], 0

    @property
    def sequences(self) -> int:
        return self._packed + len(pack(self._lengths, self._seq_length))
