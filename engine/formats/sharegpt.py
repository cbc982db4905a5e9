"""ShareGPT: `conversations` of `from` and `value`; `system` and `tools` beside it are optional.

The order is checked: an optional system message (it takes the place of the `system` key), then in turn
human or observation, and gpt or function_call, ending with one of the latter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.formats import fields, tool_calls
from engine.formats.records import Record
from engine.formats.sample import Message, Role, Sample
from engine.spec import ColumnNames, TagNames

SUFFIXES = (".json", ".jsonl", ".csv", ".parquet")
COLUMNS = ("messages", "system", "tools")
TAGS: tuple[str, ...] = ("role", "content", "user", "assistant", "observation", "function", "system")


def sniff(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("conversations"), list)


@dataclass(frozen=True)
class _Words:
    """Words of the rows, with the mapping applied."""

    messages: str
    role: str
    content: str
    system: str
    function: str
    asking: dict[str, Role]
    answering: dict[str, Role]


def _words(columns: ColumnNames, tags: TagNames) -> _Words:
    function = tags.function or "function_call"
    return _Words(
        messages=columns.messages or "conversations",
        role=tags.role or "from",
        content=tags.content or "value",
        system=tags.system or "system",
        function=function,
        asking={tags.user or "human": "user", tags.observation or "observation": "tool"},
        answering={tags.assistant or "gpt": "assistant", function: "assistant"},
    )


def reader(columns: ColumnNames, tags: TagNames) -> Callable[[Record], Sample]:
    words = _words(columns, tags)
    system_key, tools = columns.system or "system", columns.tools or "tools"

    def sample(record: Record) -> Sample:
        row = fields.mapping(record.value)
        turns = [_turn(turn, number, words) for number, turn in enumerate(fields.items(row, words.messages))]
        system = fields.string(row, system_key, optional=True)
        if turns and turns[0][0] == words.system:
            system = turns.pop(0)[1]
        first = (Message("system", system),) if system else ()
        messages = (*first, *_in_order(turns, words))
        return Sample(record.line, messages, tools=fields.described(row, tools), file=record.file)

    return sample


def _turn(turn: Any, number: int, words: _Words) -> tuple[str, str]:
    place = f"{words.messages}[{number}]"
    row, where = fields.mapping(turn, place), f"{place}."
    return fields.string(row, words.role, where=where), fields.string(row, words.content, where=where)


def _in_order(turns: list[tuple[str, str]], words: _Words) -> Iterator[Message]:
    if not turns:
        raise fields.RowError("row.empty", key=words.messages)
    for number, (speaker, value) in enumerate(turns, start=1):
        allowed = words.asking if number % 2 else words.answering
        if speaker not in allowed:
            raise fields.RowError("row.role_order", number=number, found=speaker[:80], expected=" / ".join(allowed))
        if allowed[speaker] == "user" and not value.strip():
            raise fields.RowError("row.empty_turn", number=number)
        calls = tool_calls.of_text(value) if speaker == words.function else ()
        yield Message(allowed[speaker], "" if calls else value, calls)
    if len(turns) % 2:
        raise fields.RowError("row.no_answer", found=turns[-1][0][:80])
