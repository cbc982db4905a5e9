"""Many texts become token ids, and spans of their characters become labels.

Byte-level tokenizers (Llama 3, Qwen, DeepSeek, SmolLM2) cut a text without changing a byte, and every token
stands for a fixed number of bytes. So where each token stands follows from the ids alone, and the tokenizer
need not keep offsets, which costs it time. Each row is checked: its tokens must have as many bytes as its
text. The others (a tokenizer that normalizes, or SentencePiece's) are encoded with offsets.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.preprocess.encoder import encoder_of
from engine.preprocess.indexed import Ids
from engine.preprocess.store import IGNORED, Row

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Spans = Sequence[tuple[int, int]]
Lengths = NDArray[np.int64]
IdsOf = Callable[[Sequence[str]], list[Ids]]


class Encoder:
    """One tokenizer, with what is known of its tokens."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, ids: IdsOf | None = None) -> None:
        """ids: what encodes texts in the place of the tokenizer itself, to the same ids; for byte-level ones only."""
        self._own = ids
        self._backend: Any = tokenizer.backend_tokenizer
        self._encoder = encoder_of(tokenizer)
        self._lengths = _byte_lengths(self._backend)
        self._composes = self._backend.normalizer is not None

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """Ids of each text as it stands, int32 [length]: nothing is added, nothing cut."""
        return self._encoder.encode(texts)

    def rows(self, texts: Sequence[str], spans: Sequence[Spans]) -> list[Row]:
        """Ids and labels of each text; labels are the ids of tokens that reach into a span, else IGNORED.

        spans: of characters, in order, apart from each other. A token across the begin of a span is learnt.
        """
        if self._lengths is None:
            return self._with_offsets(texts, spans)
        if self._composes:
            texts, spans = _composed(texts, spans)
        encoded = (self._own or self.ids)(texts)
        counts = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        flat = np.concatenate(encoded) if encoded else np.empty(0, np.int32)
        return self._labelled(flat, counts, texts, spans)

    def _labelled(self, flat: Ids, counts: Lengths, texts: Sequence[str], spans: Sequence[Spans]) -> list[Row]:
        """All rows at once: positions are counted through the whole batch."""
        assert self._lengths is not None
        ends = np.cumsum(self._lengths[flat])
        borders = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        row_begins = np.concatenate([np.zeros(1, np.int64), ends])[borders[:-1]]
        row_bytes = np.diff(np.append(row_begins, ends[-1] if len(ends) else 0))
        wrong = [row for row, text in enumerate(texts) if not _same(text, int(row_bytes[row]))]
        places = [
            (begin + row_begins[row], end + row_begins[row])
            for row, text in enumerate(texts)
            for begin, end in _in_bytes(text, spans[row])
        ]
        labels = np.full_like(flat, IGNORED)
        if places:
            bounds = np.array(places, dtype=np.int64)
            first = np.searchsorted(ends, bounds[:, 0], side="right")
            behind = np.searchsorted(ends, bounds[:, 1], side="left") + 1
            for begin, end in zip(first.tolist(), behind.tolist(), strict=True):
                labels[begin:end] = flat[begin:end]
        rows = [
            (flat[begin:end], labels[begin:end])
            for begin, end in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
        ]
        again = self._with_offsets([texts[row] for row in wrong], [spans[row] for row in wrong])
        for row, right in zip(wrong, again, strict=True):
            rows[row] = right
        return rows

    def _with_offsets(self, texts: Sequence[str], spans: Sequence[Spans]) -> list[Row]:
        rows = []
        for item, wanted in zip(self._backend.encode_batch(list(texts), add_special_tokens=False), spans, strict=True):
            ids = np.array(item.ids, dtype=np.int32)
            labels = np.full_like(ids, IGNORED)
            places = np.array(item.offsets, dtype=np.int64).reshape(-1, 2)
            ends = np.maximum.accumulate(places[:, 1]) if len(places) else places[:, 1]
            begins = np.minimum(places[:, 0], np.append(0, ends[:-1])[: len(ends)])  # blanks may have been trimmed off
            for begin, end in wanted:
                inside = (ends > begin) & (begins < end)
                labels[inside] = ids[inside]
            rows.append((ids, labels))
        return rows


def _composed(texts: Sequence[str], spans: Sequence[Spans]) -> tuple[list[str], list[Spans]]:
    """Texts as NFC leaves them, which the tokenizer would do itself, and the spans in them."""
    pairs = [
        (text, wanted) if text.isascii() or unicodedata.is_normalized("NFC", text) else _composed_one(text, wanted)
        for text, wanted in zip(texts, spans, strict=True)
    ]
    return [text for text, _ in pairs], [wanted for _, wanted in pairs]


def _composed_one(text: str, spans: Spans) -> tuple[str, Spans]:
    def place(character: int) -> int:
        return len(unicodedata.normalize("NFC", text[:character]))

    return unicodedata.normalize("NFC", text), [(place(begin), place(end)) for begin, end in spans]


def _same(text: str, size: int) -> bool:
    """Do the tokens have exactly the bytes of the text?"""
    return size == (len(text) if text.isascii() else len(text.encode()))


def _in_bytes(text: str, spans: Spans) -> Spans:
    if text.isascii():
        return spans
    return [(len(text[:begin].encode()), len(text[:end].encode())) for begin, end in spans]


def _byte_lengths(backend: Any) -> Lengths | None:
    """Bytes of each token by id, int64 [vocabulary]; None for a tokenizer that is not byte-level."""
    if not _is_byte_level(backend):
        return None
    added = backend.get_added_tokens_decoder()
    vocabulary: dict[str, int] = backend.get_vocab(with_added_tokens=True)
    lengths = np.zeros(max(vocabulary.values(), default=0) + 1, dtype=np.int64)
    for token, number in vocabulary.items():
        lengths[number] = len(token.encode()) if number in added else len(token)
    return lengths


def _is_byte_level(backend: Any) -> bool:
    """Byte-level BPE spells each byte as one character; nothing but NFC may happen to the text before that."""
    steps = repr(backend.pre_tokenizer)
    normalizer = repr(backend.normalizer)
    harmless = normalizer in ("None", "NFC()", "Sequence(normalizers=[])")
    return "ByteLevel(add_prefix_space=False" in steps and harmless
