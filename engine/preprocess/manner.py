"""How a chat template puts things, found by trying it on short made-up conversations.

An answer stands between what opens it (`<|im_start|>assistant\\n`) and what closes it (`<|im_end|>`); these two
strings are all that is needed to find every answer in a rendered conversation.
"""

from __future__ import annotations

import os.path
from dataclasses import dataclass

from engine.failures import Failure
from engine.preprocess.template import ChatTemplate, Refused, Turn

MADE_UP = ("Qzk1vBwq", "Jxw2hGvj", "Wvq3kZxw", "Kqj4xPzk")
"""Words that no template writes. None shares its begin or end with another."""
TOOL: dict[str, object] = {
    "type": "function",
    "function": {"name": MADE_UP[2], "description": "-", "parameters": {"type": "object", "properties": {}}},
}


@dataclass(frozen=True, kw_only=True)
class Manner:
    """What a template does. The strings are of its text, not of any row."""

    opening: str
    """What stands before an answer to a question."""
    prompted: bool
    """Is the opening the same whatever the answer follows? Else it belongs to the question's end."""
    closing: str
    """What ends an answer, without the blanks around it; empty if nothing does until the next turn begins."""
    system: bool
    """Does it write the system text?"""
    tools: bool
    """Does it write the descriptions of tools?"""
    calls: bool
    """Does it write the calls of tools, and what the tools returned?"""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done for it, as codes."""
        named = {
            "template.system_in_question": not self.system,
            "template.tools_as_text": not self.tools,
            "template.calls_as_text": not self.calls,
            "template.end_added": not self.closing,
        }
        return tuple(code for code, holds in named.items() if holds)


def of(template: ChatTemplate) -> Manner:
    """Raises Failure `preprocess.template_refuses` if it does not even take a question with an answer."""
    question, answer = _turn("user", 0), _turn("assistant", 1)
    try:
        asked = template.render([question], opened=True)
        said = template.render([question, answer])
        opening = _between(asked, MADE_UP[0], None)
        written = _between(said, MADE_UP[0], MADE_UP[1])
    except (Refused, ValueError) as error:
        raise Failure("preprocess.template_refuses", "model_path", reason=str(error)[:200]) from error
    prompt = asked.removeprefix(_or(template, [question], asked))
    common = os.path.commonprefix([opening, written])  # noqa: RUF071 – of texts, not of paths
    prompted = bool(prompt.strip()) and opening.endswith(prompt)
    return Manner(
        opening=common[len(opening) - len(prompt) :] if prompted else common,
        prompted=prompted,
        closing=_between(said, MADE_UP[1], None).strip(),
        system=MADE_UP[3] in _or(template, [_turn("system", 3), question, answer], ""),
        tools=MADE_UP[2] in _or(template, [question, answer], "", tools=[TOOL]),
        calls=_writes_calls(template),
    )


def _turn(role: str, word: int) -> Turn:
    return {"role": role, "content": MADE_UP[word]}


def _or(template: ChatTemplate, turns: list[Turn], otherwise: str, tools: list[dict[str, object]] | None = None) -> str:
    try:
        return template.render(turns, tools)
    except Refused:
        return otherwise


def _writes_calls(template: ChatTemplate) -> bool:
    function = {"name": MADE_UP[2], "arguments": {"a": MADE_UP[1]}}
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "id": "a12345678", "function": function}],
    }
    result = {"role": "tool", "content": MADE_UP[3], "tool_call_id": "a12345678", "name": MADE_UP[2]}
    text = _or(template, [_turn("user", 0), call, result, _turn("assistant", 1)], "", tools=[TOOL])
    return all(word in text for word in (MADE_UP[1], MADE_UP[2], MADE_UP[3]))


def _between(text: str, first: str, second: str | None) -> str:
    """What stands between two words, or behind the first. Raises ValueError if one is not there."""
    start = text.index(first) + len(first)
    return text[start : len(text) if second is None else text.index(second, start)]
