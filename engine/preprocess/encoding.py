"""What is done to the rows of one chunk: rendered, encoded, cut to length. Runs on every core, a chunk each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.failures import Failure
from engine.formats import Sample
from engine.preprocess import chat, documents
from engine.preprocess.encoder import encoder_of
from engine.preprocess.indexed import Ids
from engine.preprocess.store import Row, trained_tokens
from engine.spec import TrainStage

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NONE = np.empty(0, np.int32)


@dataclass(frozen=True)
class Encoded:
    """The rows of a chunk. ids and labels: int32 [tokens of all rows]; documents have no labels."""

    ids: Ids
    labels: Ids
    lengths: Ids
    """Tokens of each row that is kept."""
    trained: int
    """Tokens that enter the loss."""
    read: int
    shortened: int
    dropped: tuple[tuple[str, int], ...]
    """Reason and line of each row that is not kept."""


class Conversations:
    """One sample for each row, cut to `seq_length` where it is longer."""

    stage: TrainStage = "sft"

    def __init__(self, chosen: chat.Chat, seq_length: int) -> None:
        self._chat, self._seq_length = chosen, seq_length

    def __call__(self, samples: Sequence[Sample]) -> Encoded:
        usable: list[tuple[int, chat.Rendered]] = []
        dropped: list[tuple[str, int]] = []
        for sample in samples:
            try:
                usable.append((sample.line, self._chat.render(sample)))
            except chat.Unusable as unusable:
                dropped.append((str(unusable), sample.line))
        rows: list[Row] = []
        shortened = trained = 0
        for (line, _), row in zip(usable, self._encoded(usable), strict=True):
            cut = (row[0][: self._seq_length], row[1][: self._seq_length])
            if learnt := trained_tokens(cut[1]):
                shortened += len(row[0]) > self._seq_length
                trained += learnt
                rows.append(cut)
            else:
                dropped.append(("question_fills_seq_length", line))
        return Encoded(
            ids=_joined([ids for ids, _ in rows]),
            labels=_joined([labels for _, labels in rows]),
            lengths=_lengths([ids for ids, _ in rows]),
            trained=trained,
            read=len(samples),
            shortened=shortened,
            dropped=tuple(dropped),
        )

    def _encoded(self, usable: list[tuple[int, chat.Rendered]]) -> list[Row]:
        return self._chat.encode([rendered for _, rendered in usable])


class Documents:
    """One document for each row, whole, closed by the end token."""

    stage: TrainStage = "pretrain"

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        if tokenizer.eos_token_id is None:
            raise Failure("preprocess.no_end_token", "model_path", path=str(tokenizer.name_or_path))
        self._encoder = encoder_of(tokenizer)
        self._closing = np.array([tokenizer.eos_token_id], dtype=np.int32)

    def __call__(self, samples: Sequence[Sample]) -> Encoded:
        encoded = self._encoder.encode([documents.document(sample) for sample in samples])
        return Encoded(
            ids=_joined([piece for ids in encoded for piece in (ids, self._closing)]),
            labels=NONE,
            lengths=_lengths(encoded) + np.int32(1),
            trained=sum(map(len, encoded)) + len(encoded),
            read=len(samples),
            shortened=0,
            dropped=(),
        )


def _joined(parts: Sequence[Ids]) -> Ids:
    return np.concatenate(parts) if parts else NONE


def _lengths(parts: Sequence[Ids]) -> Ids:
    return np.fromiter(map(len, parts), np.int32, len(parts))
