"""Text → token ids, exactly as the `tokenizers` library gives them, by a faster library where that one agrees.

gigatoken encodes the same BPE tables many times as fast, since it remembers the pieces it has seen. It is young, so
it is not trusted: it has to agree on probes when it is loaded, and on a share of the real texts all along the way.
One that it does not take, or on which it differs, is encoded by `tokenizers`. So is each text with a character that
Python's Unicode does not know: the two libraries follow different versions of it, and cut new letters differently.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from engine.preprocess.indexed import Ids

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ALWAYS_CHECKED = 200
"""The first texts are all encoded twice, later ones each `CHECKED_SHARE`th."""
CHECKED_SHARE = 50
REFRESH_CHARACTERS = 1 << 27
"""Then a new fast tokenizer takes over: what the old one remembers grows with the text."""
PIECES = (
    "", " ", "  ", "\n", "\n\n", " \n ", "\r\n", "\t", "a", " a", "A.b", "don't", "WE'LL", "I'm  it's", "1", "1234567",
    " 12 345", "x=1;\ty[0]+=2\n", "…—–", "!!!", "Hello, world!", "中文。", "列车 即将\u3000出发！", "日本語テスト",
    "한국어", "Привет мир", "مرحبا", "हिन्दी", "ก็ไทย", "é", "e\u0301", "ﬁ", "①", "Å", "ſ", "😀", "👨‍👩‍👧", "\u00a0",
    "\u200b", "\ufeff", "\x00", "a" * 70, " " * 17, "\n" * 9,
)  # fmt: skip


class Differs(Exception):
    """The fast tokenizer gave other ids for a real text: what it has encoded before is not to be trusted either."""


class Encoder:
    """Of one tokenizer. `exact_only` leaves the fast one out."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, exact_only: bool = False) -> None:
        self._exact: Any = tokenizer.backend_tokenizer
        self._exact.no_truncation()  # a tokenizer.json may ask for either; here nothing is added and nothing cut
        self._exact.no_padding()
        self.added = _added(tokenizer)
        self._fast: Any = None if exact_only else self._load_fast()
        self._seen = self._characters = 0

    @property
    def fast(self) -> bool:
        return self._fast is not None

    def encode(self, texts: Sequence[str]) -> list[Ids]:
        """Ids of each text as it stands, int32. Raises Differs."""
        if self._fast is None:
            return self._exactly(texts)
        result = [self._exactly([text])[0] if _has_unassigned(text) else self._quickly(text) for text in texts]
        self._check(texts, result)
        self._characters += sum(map(len, texts))
        if self._characters > REFRESH_CHARACTERS:
            self._fast = None  # before the new one is there: two of them are too many
            self._fast, self._characters = self._load_fast(), 0
        return result

    def _quickly(self, text: str) -> Ids:
        try:
            found: Ids = self._fast.encode(text).astype(np.int32)
        except BaseException as error:  # a panic in Rust has a class that cannot be imported, and is no Exception
            if type(error).__name__ != "PanicException":
                raise
            raise Differs(text[:200]) from error
        return found

    def _exactly(self, texts: Sequence[str]) -> list[Ids]:
        batch = self._exact.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(item.ids, dtype=np.int32) for item in batch]

    def _check(self, texts: Sequence[str], result: list[Ids]) -> None:
        chosen = [
            n for n in range(len(texts)) if self._seen + n < ALWAYS_CHECKED or not (self._seen + n) % CHECKED_SHARE
        ]
        self._seen += len(texts)
        for number, ids in zip(chosen, self._exactly([texts[n] for n in chosen]), strict=True):
            if not np.array_equal(result[number], ids):
                raise Differs(texts[number][:200])

    def _load_fast(self) -> Any:
        """A gigatoken tokenizer that agrees on every probe; None if there is none."""
        try:
            from gigatoken import Tokenizer

            fast = Tokenizer.from_json(self._exact.to_str()).backend
        except (ImportError, ValueError, TypeError, KeyError, NotImplementedError, RuntimeError):
            return None  # not installed on this machine, or not a kind of tokenizer that it knows
        probes = list(self._probes())
        agrees = all(
            np.array_equal(fast.encode(probe), ids) for probe, ids in zip(probes, self._exactly(probes), strict=True)
        )
        return fast if agrees else None

    def _probes(self) -> Iterator[str]:
        """Every piece and every added token alone, before and behind others."""
        added = [str(token.content) for token in self._exact.get_added_tokens_decoder().values()]
        yield from PIECES
        for number, piece in enumerate(PIECES):
            yield "".join(PIECES[number:] + PIECES[:number])
            yield f"word {piece}word{piece} "
        for number, token in enumerate(added[:512]):
            yield f"a{token}b {token} {PIECES[number % len(PIECES)]}{token}\n"


def _has_unassigned(text: str) -> bool:
    """Whether a character is in the text that Python's Unicode has no category for."""
    return not text.isascii() and bool(_unassigned()[np.frombuffer(text.encode("utf-32-le"), "<u4")].any())


@cache
def _unassigned() -> NDArray[np.bool_]:
    """Of each code point."""
    return np.fromiter((unicodedata.category(chr(one)) == "Cn" for one in range(sys.maxunicode + 1)), np.bool_)


_known: WeakKeyDictionary[Any, Encoder] = WeakKeyDictionary()


def encoder_of(tokenizer: PreTrainedTokenizerBase) -> Encoder:
    """The encoder of a tokenizer, made on first use, and again when tokens were added to the tokenizer since."""
    known = _known.get(tokenizer)
    if known is None or (known.fast and known.added != _added(tokenizer)):
        known = _known[tokenizer] = Encoder(tokenizer)
    return known


def _added(tokenizer: PreTrainedTokenizerBase) -> int:
    return len(tokenizer.backend_tokenizer.get_added_tokens_decoder())


def use_exact(tokenizer: PreTrainedTokenizerBase) -> None:
    """From here on, only the `tokenizers` library for this tokenizer."""
    _known[tokenizer] = Encoder(tokenizer, exact_only=True)
