"""What is done to the rows of one chunk: rendered, encoded, cut to length. Runs on every core, a chunk each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engine.failures import Failure
from engine.formats import Broken, Sample
from engine.preparation import FILLED, NOTHING
from engine.preprocess import chat, documents
from engine.preprocess.encoder import encoder_of
from engine.preprocess.indexed import Ids
from engine.preprocess.store import Row, trained_tokens
from engine.problems import Value
from engine.spec import TrainStage

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NONE = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Drop:
    """A row that can be read, but from which nothing is learnt."""

    reason: str
    row: Sample
    parameters: dict[str, Value] = field(default_factory=dict)


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
    dropped: tuple[Drop | Broken, ...]
    """Each row that is not kept."""
    answers_left_out: int = 0
    """In rows that are kept: answers that the template does not write."""


class Conversations:
    """One sample for each row, cut to `seq_length` where it is longer."""

    stage: TrainStage = "sft"

    def __init__(self, chosen: chat.Chat, seq_length: int) -> None:
        self._chat, self._seq_length = chosen, seq_length

    def __call__(self, items: Sequence[Sample | Broken]) -> Encoded:
        usable: list[tuple[Sample, chat.Rendered]] = []
        dropped: list[Drop | Broken] = []
        for item in items:
            if isinstance(item, Broken):
                dropped.append(item)
                continue
            try:
                usable.append((item, self._chat.render(item)))
            except chat.Unusable as unusable:
                dropped.append(Drop(f"row.{unusable}", item))
        rows: list[Row] = []
        shortened = trained = left_out = 0
        encoded = self._chat.encode([rendered for _, rendered in usable])
        for (sample, rendered), row in zip(usable, encoded, strict=True):
            cut = (row[0][: self._seq_length], row[1][: self._seq_length])
            if learnt := trained_tokens(cut[1]):
                shortened += len(row[0]) > self._seq_length
                trained += learnt
                left_out += rendered.left_out
                rows.append(cut)
            else:
                dropped.append(self._unlearnt(sample, row))
        return Encoded(
            ids=_joined([ids for ids, _ in rows]),
            labels=_joined([labels for _, labels in rows]),
            lengths=_lengths([ids for ids, _ in rows]),
            trained=trained,
            read=len(items),
            shortened=shortened,
            dropped=tuple(dropped),
            answers_left_out=left_out,
        )

    def _unlearnt(self, sample: Sample, row: Row) -> Drop:
        if not trained_tokens(row[1]):
            return Drop(NOTHING, sample)
        return Drop(FILLED, sample, {"tokens": len(row[0]), "seq_length": self._seq_length})


class Documents:
    """One document for each row, whole, closed by the end token."""

    stage: TrainStage = "pretrain"

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        if tokenizer.eos_token_id is None:
            raise Failure("preprocess.no_end_token", "model_path", path=str(tokenizer.name_or_path))
        self._encoder = encoder_of(tokenizer)
        self._closing = np.array([tokenizer.eos_token_id], dtype=np.int32)

    def __call__(self, items: Sequence[Sample | Broken]) -> Encoded:
        samples = [item for item in items if isinstance(item, Sample)]
        encoded = self._encoder.encode([documents.document(sample) for sample in samples])
        return Encoded(
            ids=_joined([piece for ids in encoded for piece in (ids, self._closing)]),
            labels=NONE,
            lengths=_lengths(encoded) + np.int32(1),
            trained=sum(map(len, encoded)) + len(encoded),
            read=len(items),
            shortened=0,
            dropped=tuple(item for item in items if isinstance(item, Broken)),
        )


def _joined(parts: Sequence[Ids]) -> Ids:
    return np.concatenate(parts) if parts else NONE


def _lengths(parts: Sequence[Ids]) -> Ids:
    return np.fromiter(map(len, parts), np.int32, len(parts))
