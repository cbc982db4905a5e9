"""MOSS: `chat` of turns `turn_1`, `turn_2`, … each with `Human` and `MOSS`; `meta_instruction` is the system.

Real records wrap every text in a marker of its role and one of its end, such as `<|Human|>: … <eoh>`; both
are taken off. `Inner Thoughts`, `Commands` and `Tool Responses` of a turn are passed over, as MindSpeed-LLM's
two handlers do: the model learns the answers, not the calls. Unlike them, the system text is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from engine.formats import fields
from engine.formats.records import Record
from engine.formats.sample import Message, Sample
from engine.spec import ColumnNames, TagNames

SUFFIXES = (".json", ".jsonl", ".parquet")
COLUMNS = ("messages", "system")
TAGS: tuple[str, ...] = ()
_BEGIN = re.compile(r"\s*<\|(?:Human|MOSS)\|>:[ \t]*")
_END = re.compile(r"\s*<(?:eoh|eom)>\s*\Z")


def sniff(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("chat"), dict)


def reader(columns: ColumnNames, tags: TagNames) -> Callable[[Record], Sample]:
    messages, system_key = columns.messages or "chat", columns.system or "meta_instruction"

    def sample(record: Record) -> Sample:
        row = fields.mapping(record.value)
        if messages not in row:
            raise fields.RowError("row.missing_key", key=messages)
        chat = fields.mapping(row[messages], messages)
        system = fields.string(row, system_key, optional=True)
        first = (Message("system", system),) if system else ()
        names = sorted(chat, key=_number)
        turns = tuple(message for name in names for message in _turn(chat[name], f"{messages}.{name}"))
        if not turns:
            raise fields.RowError("row.empty", key=messages)
        return Sample(record.line, (*first, *turns), file=record.file)

    return sample


def _number(name: str) -> tuple[int, str]:
    digits = name.removeprefix("turn_")
    return (int(digits), name) if digits.isdecimal() and len(digits) < 10 else (0, name)


def _turn(turn: Any, place: str) -> Iterator[Message]:
    row = fields.mapping(turn, place)
    question = _bare(fields.string(row, "Human", where=f"{place}."))
    if not question.strip():
        raise fields.RowError("row.empty", key=f"{place}.Human")
    yield Message("user", question)
    yield Message("assistant", _bare(fields.string(row, "MOSS", where=f"{place}.")))


def _bare(text: str) -> str:
    begin = _BEGIN.match(text)
    return _END.sub("", text[begin.end() :] if begin else text)
