"""Conversations become tokens and labels, by a chat template.

Only what the model is to say itself is learnt: each answer with what ends it, or what `train_on` asks for.
Each conversation is tokenized once, as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.dataset_report import TemplateChoice
from engine.failures import Failure
from engine.formats import Message, Sample, ToolCall
from engine.formats.fields import parsed
from engine.preprocess import manner, spans, template
from engine.preprocess.offsets import Encoder, IdsOf
from engine.preprocess.skeleton import Skeletons
from engine.preprocess.spans import Span
from engine.preprocess.store import Row
from engine.preprocess.template import ChatTemplate, Refused, Turn
from engine.spec import TrainOn

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Unusable(Exception):
    """A row that cannot be learnt from; the argument is a key of `report.json`."""


@dataclass(frozen=True, slots=True)
class Rendered:
    text: str
    """The whole conversation."""
    spans: tuple[Span, ...]
    """The characters that are learnt, in order."""
    left_out: int = 0
    """Answers that the template does not write, so that they are not learnt."""


class Chat:
    """A tokenizer with the template that its conversations are written by."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        name: str | None = None,
        train_on: TrainOn = "every_answer",
        model_type: str = "",
        ids: IdsOf | None = None,
    ) -> None:
        """name: a family's template to insist on; model_type: of config.json; ids: see Encoder. Raises Failure."""
        self.template: ChatTemplate = template.choose(tokenizer, name, model_type)
        self.manner = manner.of(self.template)
        self.train_on = train_on
        self._asked = name is not None
        self._end = "" if self.manner.closing else str(tokenizer.eos_token or "")
        if not self.manner.closing and not self._end:
            raise Failure("preprocess.no_end_token", "model_path", path=str(tokenizer.name_or_path))
        self._encoder = Encoder(tokenizer, ids)
        self._skeletons = Skeletons(self.template, self.manner)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done because the template does not take everything, as codes of texts."""
        return self.manner.notes

    def choice(self) -> TemplateChoice:
        """Which template it is, for people."""
        source = "asked" if self._asked else self.template.source
        return TemplateChoice(name=self.template.name, source=source, notes=self.notes)

    def render(self, sample: Sample) -> Rendered:
        """Raises Unusable `no_answer`, `template_refused` or `answers_left_out`."""
        turns, tools = self._turns(sample)
        if not any(turn["role"] == "assistant" for turn in turns):
            raise Unusable("no_answer")
        quickly = None if tools else self._skeletons.render(turns)
        if quickly is not None:
            return self._closed(*quickly, len(quickly[1]))
        try:
            text = self.template.render(turns, tools)
            found: Sequence[Span | None] | None = spans.quick(text, turns, self.manner)
            if found is None:
                found = spans.careful(text, turns, tools, self.template, self.manner)
        except Refused as error:
            raise Unusable("template_refused") from error
        if found[-1] is None:
            raise Unusable("answers_left_out")
        return self._closed(text, [span for span in found if span is not None], len(found))

    def _closed(self, text: str, found: list[Span], answers: int) -> Rendered:
        """With the end that the template does not write, and only the answers that are asked for."""
        left_out = answers - len(found)
        if self._end:
            text = text[: found[-1][1]] + self._end
            found[-1] = (found[-1][0], len(text))
        if self.train_on == "last_answer":
            found = found[-1:]
        elif self.train_on == "whole_text":
            found = [(0, len(text))]
        return Rendered(text, tuple(found), left_out)

    def encode(self, rows: Sequence[Rendered]) -> list[Row]:
        """Token ids and labels of many rows at once, not yet cut to a length."""
        return self._encoder.rows([row.text for row in rows], [row.spans for row in rows])

    def _turns(self, sample: Sample) -> tuple[list[Turn], Any]:
        """Messages as this template takes them, and the tools if it writes them."""
        messages, known = sample.messages, self.manner
        tools = parsed(sample.tools) if sample.tools and known.tools else None
        if isinstance(tools, (list, dict)):
            tools = [_described(tool) for tool in (tools if isinstance(tools, list) else [tools])]
        else:
            tools = None
        if sample.tools and tools is None:
            messages = _with_system(messages, sample.tools)
        if not known.system:
            messages = _system_in_question(messages)
        return [_turn(message, known.calls) for message in messages], tools


def _described(tool: Any) -> Any:
    """A tool as templates expect it: real data often has the bare function."""
    bare = isinstance(tool, dict) and "function" not in tool and "name" in tool
    return {"type": "function", "function": tool} if bare else tool


def _with_system(messages: tuple[Message, ...], tools: str) -> tuple[Message, ...]:
    """The descriptions of tools behind the system text, for a template that writes none."""
    if messages and messages[0].role == "system":
        return (Message("system", f"{messages[0].content}\n\n{tools}"), *messages[1:])
    return (Message("system", tools), *messages)


def _system_in_question(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The system text in front of the first question, for a template that would leave it out."""
    if len(messages) < 2 or messages[0].role != "system":
        return messages
    first = Message(messages[1].role, f"{messages[0].content}\n\n{messages[1].content}")
    return (first, *messages[2:])


def _turn(message: Message, calls: bool) -> Turn:
    turn: Turn = {"role": message.role, "content": message.content}
    if message.tool_calls and calls:
        turn["tool_calls"] = [*_calls(message.tool_calls)]
    elif message.tool_calls:
        turn["content"] = "\n".join(filter(None, (message.content, *map(_call_text, message.tool_calls))))
    elif message.role == "tool":
        turn["role"] = "tool" if calls else "user"
        if calls:
            turn |= {"tool_call_id": CALL_ID, **({"name": message.name} if message.name else {})}
    if message.reasoning:
        turn["reasoning_content"] = message.reasoning
    return turn


CALL_ID = "call00001"
"""Nine letters and digits, which is what Mistral's templates ask for; rows have none, or one that says nothing."""


def _calls(calls: tuple[ToolCall, ...]) -> Iterator[dict[str, Any]]:
    for call in calls:
        yield {"type": "function", "id": CALL_ID, "function": {"name": call.name, "arguments": call.arguments}}


def _call_text(call: ToolCall) -> str:
    return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)


def encode_texts(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[Any]:
    """Ids of each text as it stands, int32 [length]: nothing is added, nothing cut."""
    return Encoder(tokenizer).ids(texts)
