"""OpenAI's messages: `messages` of `role` and `content`; `tools` beside it is optional.

Content is a text, a list of text parts, or null where the message is calls of tools. The order is checked:
system (or developer) first if at all, then user or tool, and assistant, ending with an assistant. Several
tool results in a row are right, since one answer may call several tools.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.formats import fields, tool_calls
from engine.formats.records import Record
from engine.formats.sample import Message, Role, Sample
from engine.spec import ColumnNames, TagNames

SUFFIXES = (".json", ".jsonl", ".csv", ".parquet")
COLUMNS = ("messages", "system", "tools")
TAGS: tuple[str, ...] = ("role", "content", "user", "assistant", "observation", "function", "system")
_MEDIA = ("image_url", "input_image", "image", "input_audio", "audio", "video", "video_url", "file")


def sniff(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("messages"), list)


@dataclass(frozen=True)
class _Words:
    """Words of the rows, with the mapping applied."""

    messages: str
    role: str
    content: str
    roles: dict[str, Role]
    function: str


def _words(columns: ColumnNames, tags: TagNames) -> _Words:
    function = tags.function or "function_call"
    return _Words(
        messages=columns.messages or "messages",
        role=tags.role or "role",
        content=tags.content or "content",
        function=function,
        roles={
            tags.system or "system": "system",
            **({} if tags.system else {"developer": "system"}),
            tags.user or "user": "user",
            tags.assistant or "assistant": "assistant",
            function: "assistant",
            tags.observation or "tool": "tool",
            **({} if tags.observation else {"function": "tool"}),
        },
    )


def reader(columns: ColumnNames, tags: TagNames) -> Callable[[Record], Sample]:
    words = _words(columns, tags)
    system_key, tools = columns.system or "system", columns.tools or "tools"

    def sample(record: Record) -> Sample:
        row = fields.mapping(record.value)
        turns = fields.items(row, words.messages)
        messages = [_message(turn, f"{words.messages}[{number}]", words) for number, turn in enumerate(turns)]
        system = fields.string(row, system_key, optional=True)
        if system and not (messages and messages[0].role == "system"):
            messages.insert(0, Message("system", system))
        _check_order(messages, words)
        return Sample(record.line, tuple(messages), tools=fields.described(row, tools), file=record.file)

    return sample


def _message(turn: Any, place: str, words: _Words) -> Message:
    row = fields.mapping(turn, place)
    speaker = fields.string(row, words.role, where=f"{place}.")
    if speaker not in words.roles:
        raise fields.RowError("row.unknown_role", key=f"{place}.{words.role}", found=speaker[:80])
    role = words.roles[speaker]
    content = _content(row, words.content, place, optional=role == "assistant")
    calls = _calls(row, speaker, content, place, words) if role == "assistant" else ()
    if calls and speaker == words.function:
        content = ""
    if role == "assistant" and not calls and row.get(words.content) is None:
        raise fields.RowError("row.missing_key", key=f"{place}.{words.content}")
    reasoning = fields.string(row, "reasoning_content", optional=True, where=f"{place}.")
    name = fields.string(row, "name", optional=True, where=f"{place}.") if role == "tool" else ""
    return Message(role, content, calls, reasoning if role == "assistant" else "", name)


def _calls(row: dict[str, Any], speaker: str, content: str, place: str, words: _Words) -> Any:
    if speaker == words.function:
        return tool_calls.of_text(content)
    old = row.get("function_call")  # one call, before there was a list of them
    if row.get("tool_calls") is None and old is not None:
        return tool_calls.of_list([old], f"{place}.function_call")
    return tool_calls.of_list(row.get("tool_calls"), f"{place}.tool_calls")


def _content(row: dict[str, Any], key: str, place: str, *, optional: bool) -> str:
    value = row.get(key)
    if isinstance(value, list):
        return "".join(_part(part, f"{place}.{key}[{number}]") for number, part in enumerate(value))
    return fields.string(row, key, optional=optional, where=f"{place}.")


def _part(part: Any, place: str) -> str:
    if isinstance(part, str):
        return fields.text(part, place)
    kind = fields.mapping(part, place).get("type", "text")
    if kind in _MEDIA:
        raise fields.RowError("row.not_only_text", key=place, found=str(kind))
    return fields.string(part, "text", where=f"{place}.")


def _check_order(messages: list[Message], words: _Words) -> None:
    turns = messages[1:] if messages and messages[0].role == "system" else messages
    first = len(messages) - len(turns)
    if not turns:
        raise fields.RowError("row.empty", key=words.messages)
    before: Role = "assistant"
    for number, message in enumerate(turns, start=1):
        expected = _may_follow(before, number == 1)
        if message.role not in expected:
            expectation = " / ".join(expected)
            raise fields.RowError("row.role_order", number=number + first, found=message.role, expected=expectation)
        if message.role == "user" and not message.content.strip():
            raise fields.RowError("row.empty_turn", number=number + first)
        before = message.role
    if before != "assistant":
        raise fields.RowError("row.no_answer", found=before)


def _may_follow(before: Role, first: bool) -> tuple[Role, ...]:
    if first:
        return ("user",)
    return {"assistant": ("user", "tool"), "tool": ("tool", "assistant")}.get(before, ("assistant",))  # type: ignore[return-value]
