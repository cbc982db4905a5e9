"""Which characters of a rendered conversation the model is to learn: each answer with what ends it.

Nothing is tokenized for this, and in nearly every row the conversation is rendered once: what opens and what
closes an answer is known (`engine.preprocess.manner`), and where no text of the row holds these words
themselves, they stand only where the template wrote them. All other rows are asked about one answer after
the other: the answer is exchanged, and what changes in the rendered text is where it stands. So a template
may rewrite what was said before (Qwen3 leaves out earlier thoughts) without any mask going wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from engine.preprocess.manner import Manner
from engine.preprocess.template import ChatTemplate, Turn

Span = tuple[int, int]
"""First character, and the one behind the last."""
_STAND_INS = ("Qzk1vBwq", "Jxw2hGvj", "7pMv4kZ0")


def quick(text: str, turns: Sequence[Turn], manner: Manner) -> list[Span] | None:
    """The span of every answer by its marks alone; None where that is not sure."""
    opening, closing = manner.opening, manner.closing
    answers = [turn for turn in turns if turn["role"] == "assistant"]
    if not opening.strip() or text.count(opening) != len(answers) or not _plain(turns, manner):
        return None
    spans, at = [], 0
    for turn in answers:
        begin = text.index(opening, at) + len(opening)
        said = _last_said(turn)
        if closing:
            end = text.find(closing, begin)
            if end < 0 or text.find(said, begin, end) < 0:
                return None
            at = end + len(closing)
        else:
            start = text.find(said, begin)
            if start < 0 or text[begin:start].strip():
                return None
            at = start + len(said)
        spans.append((begin, at))
    return spans


def _plain(turns: Sequence[Turn], manner: Manner) -> bool:
    """Is there nothing in the turns that the marks could be mistaken in?"""
    mark, closing = manner.opening.strip(), manner.closing
    for turn in turns:
        if turn["role"] == "tool" and not manner.prompted:
            return False
        for text in _texts(turn):
            if mark in text or (closing and closing in text):
                return False
    return True


def _texts(turn: Turn) -> Iterator[str]:
    yield turn["content"]
    if "reasoning_content" in turn:
        yield turn["reasoning_content"]
    for call in turn.get("tool_calls", ()):
        yield call["function"]["name"]
        yield json.dumps(call["function"]["arguments"], ensure_ascii=False)


def _last_said(turn: Turn) -> str:
    """What has to stand in the answer's span: it is missing where the template does not write the answer."""
    said: str = turn["content"].rpartition("</think>")[2].strip()
    return said if said or "tool_calls" not in turn else turn["tool_calls"][0]["function"]["name"]


def careful(
    text: str, turns: Sequence[Turn], tools: object, template: ChatTemplate, manner: Manner
) -> list[Span | None]:
    """The span of every answer, found by exchanging it; None for one that the template leaves out. Raises Refused."""
    spans: list[Span | None] = []
    before = 0
    for place, turn in enumerate(turns):
        if turn["role"] != "assistant":
            continue
        other = template.render([*turns[:place], _exchanged(turn), *turns[place + 1 :]], tools)
        first, behind = _changed(text, other)
        if first >= behind and text == other:
            spans.append(None)
            continue
        begin = _begin(text, turns[:place], tools, (before, first), template, manner)
        before = _end(text, behind, manner)
        spans.append((begin, before))
    return spans


def _exchanged(turn: Turn) -> Turn:
    """The turn with another answer, whose first and last characters are not those of the real one."""
    said = turn["content"].strip()
    stand_in = next(word for word in _STAND_INS if not said or (said[0] != word[0] and said[-1] != word[-1]))
    if said or not turn.get("tool_calls"):
        return {**turn, "content": stand_in}
    first, *more = turn["tool_calls"]
    function = first["function"]
    word = next(word for word in _STAND_INS if word[0] != function["name"][0] and word[-1] != function["name"][-1])
    return {**turn, "tool_calls": [{**first, "function": {**function, "name": word}}, *more]}


def _changed(text: str, other: str) -> Span:
    """Where two texts differ, in the first of them."""
    first = shared(text, other)
    rest, other_rest = text[first:][::-1], other[first:][::-1]
    return first, len(text) - shared(rest, other_rest)


def shared(first: str, second: str) -> int:
    """How many characters two texts have in common at their begin."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _begin(text: str, asked: Sequence[Turn], tools: object, room: Span, template: ChatTemplate, manner: Manner) -> int:
    """Where the answer begins that stands in `room`: behind its opening, or where the text opened for it ends."""
    before, first = room
    opened = text.rfind(manner.opening, before, first) if manner.opening.strip() else -1
    if opened >= 0:
        return opened + len(manner.opening)
    prompt = template.render(asked, tools, opened=True)
    return len(prompt) if before <= len(prompt) <= first and text.startswith(prompt) else first


def _end(text: str, behind: int, manner: Manner) -> int:
    closed = text.find(manner.closing, behind) if manner.closing else -1
    if closed < 0 or (manner.opening.strip() and manner.opening in text[behind:closed]):
        return behind
    return closed + len(manner.closing)
