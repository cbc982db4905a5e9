"""How the rows of a chunk become sequences on disk: each its own, or several in one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.preprocess.chunking import window
from engine.preprocess.encoding import Encoded
from engine.preprocess.indexed import Ids
from engine.preprocess.packing import pack
from engine.preprocess.store import IGNORED
from engine.preprocess.writing import TokenFiles


class Whole:
    """Documents: nothing but their tokens."""

    idle = True

    def __init__(self, files: TokenFiles) -> None:
        self._files = files

    def add(self, rows: Encoded) -> None:
        self._files.add(rows.lengths, rows.ids)

    def flush(self) -> None:
        """Nothing waits."""


class Single(Whole):
    """A sequence a sample."""

    def add(self, rows: Encoded) -> None:
        self._files.add(rows.lengths, rows.ids, np.ones_like(rows.ids), rows.labels)


class Packed:
    """Sequences of `seq_length` tokens with several samples each.

    The attention mask counts the samples of a sequence, 1, 2, 3, …, and is 0 behind the last, as MindSpeed-LLM's
    `--neat-pack` has it: their lengths and positions follow from it. A sample's first token has no label, since
    what stands before it belongs to another one.
    """

    def __init__(self, files: TokenFiles, seq_length: int, pad_token: int) -> None:
        self._files, self._seq_length, self._pad = files, seq_length, pad_token
        self._window = window(seq_length)
        self._rows: list[tuple[Ids, Ids]] = []
        self._tokens = 0

    @property
    def idle(self) -> bool:
        """Whether everything that was added is written."""
        return not self._rows

    def add(self, rows: Encoded) -> None:
        ends = np.cumsum(rows.lengths, dtype=np.int64)
        for start, end in zip((ends - rows.lengths).tolist(), ends.tolist(), strict=True):
            self._rows.append((rows.ids[start:end], rows.labels[start:end]))
        self._tokens += len(rows.ids)
        if self._tokens >= self._window:
            self.flush()

    def flush(self) -> None:
        """Put what waits into sequences."""
        for members in pack([len(ids) for ids, _ in self._rows], self._seq_length):
            self._write([self._rows[number] for number in members])
        self._rows, self._tokens = [], 0

    def _write(self, rows: Sequence[tuple[Ids, Ids]]) -> None:
        ids = np.full(self._seq_length, self._pad, np.int32)
        mask = np.zeros(self._seq_length, np.int32)
        labels = np.full(self._seq_length, IGNORED, np.int32)
        start = 0
        for number, (row_ids, row_labels) in enumerate(rows, start=1):
            end = start + len(row_ids)
            ids[start:end], mask[start:end], labels[start:end] = row_ids, number, row_labels
            labels[start] = IGNORED
            start = end
        self._files.add(np.array([self._seq_length], np.int32), ids, mask, labels)
