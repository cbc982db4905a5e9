"""Training's view of the tokens on disk: samples by number, read as they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.dataset_files import ATTENTION_MASK, INPUT_IDS, LABELS, PREFIX, TEXT, stem
from engine.preprocess.indexed import Ids, IndexedReader
from engine.spec import TrainOptions

IGNORED = -100
"""Label of a token that does not enter the loss; torch's and Hugging Face's own value."""

Row = tuple[Ids, Ids]
"""Token ids and labels of one sample, both [length]."""


@dataclass(frozen=True)
class Sequence:
    """What stands in one line of a batch: ids and labels, int32 [length]; lengths of the samples that share it.

    The samples lie one behind the other, and never see each other.
    """

    ids: Ids
    labels: Ids
    lengths: tuple[int, ...]

    @property
    def positions(self) -> NDArray[np.int64]:
        """Places of the tokens within their own samples: [length]."""
        return np.concatenate([np.arange(length) for length in self.lengths])


def trained_tokens(labels: Ids) -> int:
    """Predictions that a row asks for: the first token is never predicted."""
    return int(np.count_nonzero(labels[1:] != IGNORED))


class TokenStore:
    """Sequences of a set. The files stay mapped, not loaded."""

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, number: int) -> Sequence:
        raise NotImplementedError

    def trained(self, numbers: NDArray[np.int64]) -> int:
        """Tokens of these sequences that enter the loss."""
        return sum(trained_tokens(self[int(number)].labels) for number in numbers)


class ConversationStore(TokenStore):
    """`<prefix>_packed_*`: a sequence is one sample, or as many as its attention mask counts."""

    def __init__(self, prefix: Path) -> None:
        self._ids, self._mask, self._labels = (
            IndexedReader(named(prefix, key)) for key in (INPUT_IDS, ATTENTION_MASK, LABELS)
        )

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, number: int) -> Sequence:
        lengths = np.bincount(self._mask[number])[1:]  # what is 0 is padding
        end = int(lengths.sum())
        return Sequence(self._ids[number][:end], self._labels[number][:end], tuple(lengths.tolist()))

    def trained(self, numbers: NDArray[np.int64]) -> int:
        return sum(trained_tokens(self._labels[int(number)]) for number in numbers)


class DocumentStore(TokenStore):
    """`<prefix>_text_document`: documents one behind the other, cut into equal samples, all of it learnt.

    The last sample is shorter rather than lost. apart: documents that meet in a sample do not see each other.
    """

    def __init__(self, prefix: Path, seq_length: int, *, apart: bool) -> None:
        self._documents = IndexedReader(named(prefix, TEXT))
        self._seq_length, self._apart = seq_length, apart

    def __len__(self) -> int:
        return samples_of(len(self._documents.tokens), self._seq_length)

    def __getitem__(self, number: int) -> Sequence:
        start = number * self._seq_length
        ids = self._documents.tokens[start : start + self._seq_length]
        if not self._apart:
            return Sequence(ids, ids, (len(ids),))
        starts = self._documents.starts
        inside = starts[np.searchsorted(starts, start, "right") : np.searchsorted(starts, start + len(ids), "left")]
        borders = np.unique(np.concatenate([[0], inside - start, [len(ids)]]))
        labels = ids.copy()
        labels[borders[:-1]] = IGNORED
        return Sequence(ids, labels, tuple(np.diff(borders).tolist()))


def samples_of(tokens: int, seq_length: int) -> int:
    """Samples of a stream of tokens. A last single token predicts nothing, and is none."""
    return tokens // seq_length + (tokens % seq_length > 1)


def named(prefix: Path, key: str) -> Path:
    """The common part of a pair of files."""
    return prefix.with_name(f"{prefix.name}_{stem(key)}")


def opened(data: Path, train: TrainOptions) -> TokenStore:
    """What the stage `preprocess` has left in a run's folder `data/`."""
    prefix = data / PREFIX
    if train.stage == "sft":
        return ConversationStore(prefix)
    return DocumentStore(prefix, train.seq_length, apart=bool(train.packing))
