"""Conversations become tokens and labels, by the tokenizer's own chat template.

Only what the model is to say itself is learnt: each answer with the token that ends it. The bounds are
found by asking the template, never by searching for a marker: an answer begins where the rendered
conversation so far, opened for an answer, ends; and ends where the conversation with that answer ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jinja2 import TemplateError

from engine.formats import Message, Sample
from engine.preprocess.encoder import encoder_of
from engine.preprocess.indexed import Ids
from engine.preprocess.store import IGNORED, Row

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Unusable(Exception):
    """A row that cannot be learnt from; the argument is a key of `report.json`."""


@dataclass(frozen=True)
class Rendered:
    """text: the whole conversation; answers: for each answer the texts up to its begin and up to its end."""

    text: str
    answers: tuple[tuple[str, str], ...]


def render(tokenizer: PreTrainedTokenizerBase, sample: Sample) -> Rendered:
    """Raises Unusable `no_answer`, `template_refused` or `template_rewrites_history`."""
    messages = _messages(sample)
    places = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    if not places:
        raise Unusable("no_answer")
    try:
        text = _apply(tokenizer, messages)
        begins = [_apply(tokenizer, messages[:place], opened=True) for place in places]
        ends = [*(_apply(tokenizer, messages[: place + 1]) for place in places if place + 1 < len(messages))]
    except TemplateError as error:
        raise Unusable("template_refused") from error
    if messages[-1]["role"] == "assistant":
        ends.append(text)
    if not all(text.startswith(part) for part in (*begins, *ends)):
        raise Unusable("template_rewrites_history")
    return Rendered(text, tuple((begin, end.rstrip()) for begin, end in zip(begins, ends, strict=True)))


def _messages(sample: Sample) -> list[dict[str, str]]:
    messages = list(sample.messages)
    if sample.tools:
        first = messages.pop(0).content + "\n\n" if messages and messages[0].role == "system" else ""
        messages.insert(0, Message("system", first + sample.tools))
    return [{"role": message.role, "content": message.content} for message in messages]


def _apply(tokenizer: PreTrainedTokenizerBase, messages: list[dict[str, str]], opened: bool = False) -> str:
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=opened))


def encode(tokenizer: PreTrainedTokenizerBase, rows: Sequence[Rendered]) -> list[Row]:
    """Token ids and labels of many rows at once, not yet cut to a length."""
    texts = [part for row in rows for part in (row.text, *(piece for answer in row.answers for piece in answer))]
    encoded = iter(encode_texts(tokenizer, texts))
    result = []
    for row in rows:
        ids = next(encoded)
        labels = np.full_like(ids, IGNORED)
        for _ in row.answers:
            begin, end = _common(ids, next(encoded)), _common(ids, next(encoded))
            labels[begin:end] = ids[begin:end]
        result.append((ids, labels))
    return result


def encode_texts(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[Ids]:
    """Ids of each text as it stands: nothing is added, nothing cut."""
    return encoder_of(tokenizer).encode(texts)


def _common(ids: Ids, part: Ids) -> int:
    """How many tokens two encodings share at their begin; where a token spans the border, it counts as behind it."""
    length = min(len(ids), len(part))
    differs = np.nonzero(ids[:length] != part[:length])[0]
    return int(differs[0]) if len(differs) else length
