"""Conversations of one shape, rendered once: the template's literals with gaps for what people wrote.

A template treats most conversations with the same sequence of roles alike. So it is run once for each sequence,
on opaque texts (`engine.preprocess.opaque`) that tell what it does with them; later rows only fill the gaps, which
takes a tenth of the time. A template that looks into texts in a way that cannot be followed, or a row that is not
as it was assumed, is rendered by Jinja.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import nodes

from engine.preprocess import spans
from engine.preprocess.manner import Manner
from engine.preprocess.opaque import CLOSE, OPEN, Notes, Question, Seen, Slot
from engine.preprocess.spans import Span
from engine.preprocess.template import ChatTemplate, Refused, Turn

MOST_SHAPES = 512
_GAP = re.compile(f"{OPEN}([0-9]+){CLOSE}")
_PLAIN = frozenset({"role", "content"})
_JOINS = (nodes.Concat, nodes.Mod, nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.AssignBlock)
"""What makes a plain text of several, so that nobody sees what is done with it afterwards."""

_FILTERS = frozenset(
    {
        "trim", "tojson", "default", "d", "list", "length", "count", "first", "last", "select", "reject", "selectattr",
        "rejectattr", "map", "items", "dictsort", "string", "upper", "lower", "title", "capitalize", "replace",
    }
)  # fmt: skip
"""Filters that ask the text itself, so that it notices, or leave it alone."""


class _NoPlace(Exception):
    """An answer begins or ends inside a gap."""


@dataclass(frozen=True)
class Skeleton:
    parts: tuple[str | Slot, ...]
    answers: tuple[tuple[int, int, int, int], ...]
    """Of each answer: part and place in it where it begins, and the same where it ends."""
    questions: tuple[Question, ...]
    filled: tuple[int, ...]

    def render(self, texts: Sequence[str]) -> tuple[str, list[Span]] | None:
        """Text and answers of a conversation of this shape; None if it is not as was assumed."""
        if any(not texts[number] for number in self.filled):
            return None
        for number, method, arguments in self.questions:
            if getattr(texts[number], method)(*arguments):
                return None
        places, written, at = [], [], 0
        for part in self.parts:
            places.append(at)
            text = part if isinstance(part, str) else _stripped(texts, part)
            written.append(text)
            at += len(text)
        return "".join(written), [(places[a] + b, places[c] + d) for a, b, c, d in self.answers]


def _stripped(texts: Sequence[str], slot: Slot) -> str:
    text = texts[slot[0]]
    for method, arguments in slot[1]:
        text = getattr(text, method)(*arguments)
    return text


class Skeletons:
    """Of one template; they are made as rows need them."""

    def __init__(self, template: ChatTemplate, manner: Manner) -> None:
        self._template, self._manner = template, manner
        self._known: dict[tuple[str, ...], Skeleton | None] = {}
        self._usable = bool(manner.closing) and _follows(template)

    def render(self, turns: Sequence[Turn]) -> tuple[str, list[Span]] | None:
        """Text and answers; None where Jinja has to do it."""
        if not self._usable or any(turn.keys() != _PLAIN for turn in turns):
            return None
        shape = tuple([turn["role"] for turn in turns])
        if shape not in self._known:
            if len(self._known) >= MOST_SHAPES:
                return None
            self._known[shape] = self._made(shape)
        skeleton = self._known[shape]
        return None if skeleton is None else skeleton.render([turn["content"] for turn in turns])

    def _made(self, shape: tuple[str, ...]) -> Skeleton | None:
        notes = Notes()
        turns = [{"role": role, "content": notes.text(number)} for number, role in enumerate(shape)]
        try:
            parts = _parts(self._template.render(turns), notes)
            return None if parts is None else self._checked(shape, parts, notes)
        except (Seen, Refused, _NoPlace):
            return None

    def _checked(self, shape: tuple[str, ...], parts: tuple[str | Slot, ...], notes: Notes) -> Skeleton | None:
        """With the answers' places, found in one conversation that is really rendered; it has to come out the same."""
        texts = [f" w{number}x " for number in range(len(shape))]
        turns = [{"role": role, "content": text} for role, text in zip(shape, texts, strict=True)]
        real = self._template.render(turns)
        found = spans.quick(real, turns, self._manner)
        if found is None:
            return None
        answers = tuple((*_place(parts, texts, begin), *_place(parts, texts, end)) for begin, end in found)
        skeleton = Skeleton(parts, answers, tuple(sorted(notes.questions)), tuple(sorted(notes.filled)))
        return skeleton if skeleton.render(texts) == (real, found) else None


def _follows(template: ChatTemplate) -> bool:
    """Can all that the template does with texts be followed?"""
    tree = template.compiled.environment.parse(template.source_text)
    if next(tree.find_all(_JOINS), None) is not None:
        return False
    filters = {one.name for one in tree.find_all(nodes.Filter)}
    methods = {one.attr for one in tree.find_all(nodes.Getattr)}
    return filters <= _FILTERS and not methods & {"join", "format", "format_map"}


def _parts(text: str, notes: Notes) -> tuple[str | Slot, ...] | None:
    """Literals and gaps by turns; None where a rest of a gap shows that its text was changed."""
    pieces = _GAP.split(text)
    literals, gaps = pieces[::2], pieces[1::2]
    if any(mark in literal for literal in literals for mark in (OPEN[0], CLOSE[-1])):
        return None
    parts: list[Any] = [literals[0]]
    for gap, literal in zip(gaps, literals[1:], strict=True):
        parts += [notes.slots[int(gap)], literal]
    return tuple(parts)


def _place(parts: tuple[str | Slot, ...], texts: Sequence[str], character: int) -> tuple[int, int]:
    """Part and place in it of a character; a border belongs to the literal, whose length never changes."""
    at = 0
    for number, part in enumerate(parts):
        length = len(part if isinstance(part, str) else _stripped(texts, part))
        if isinstance(part, str) and at <= character <= at + length:
            return number, character - at
        at += length
    raise _NoPlace
