"""Documents for pretraining: one behind the other, each closed by the end token, cut into equal samples."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine.formats import Sample
from engine.preprocess.store import Ids, Row


def document(sample: Sample) -> str:
    """The text of a row; the turns of a conversation are paragraphs."""
    if sample.text is not None:
        return sample.text
    return "\n\n".join(message.content for message in sample.messages)


def samples_of(documents: Iterable[Ids], end_token: int, length: int) -> list[Row]:
    """Samples of `length` tokens, all of them learnt. The last one is shorter rather than lost."""
    closing = np.array([end_token], dtype=np.int32)
    pieces = [piece for ids in documents for piece in (ids, closing)]
    if not pieces:
        return []
    stream = np.concatenate(pieces)
    parts = [stream[start : start + length] for start in range(0, len(stream), length)]
    if len(parts[-1]) < 2:  # a single token predicts nothing
        parts.pop()
    return [(part, part) for part in parts]
