"""MOSS: `chat` of turns `turn_1`, `turn_2`, … each with `Human` and `MOSS`; `meta_instruction` is the system.

Markers such as `<|Human|>:` and `<eoh>` are taken off. Inner thoughts, commands and tool responses are
passed over, as MindSpeed-LLM's handlers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.formats import fields
from engine.formats.records import Record, read_with
from engine.formats.sample import Broken, Message, Sample

SUFFIXES = (".json", ".jsonl")
_MARKERS = re.compile(r"^\s*<\|(?:Human|MOSS)\|>:\s*|\s*<(?:eoh|eom)>\s*$")


def sniff(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("chat"), dict)


def read(path: Path) -> Iterator[Sample | Broken]:
    return read_with(path, fields.guarded(_sample))


def _sample(record: Record) -> Sample:
    row = fields.mapping(record.value)
    if "chat" not in row:
        raise fields.RowError("row.missing_key", key="chat")
    chat = row["chat"]
    if not isinstance(chat, dict):
        raise fields.RowError("row.not_object", found=fields.type_name(chat))
    system = fields.string(row, "meta_instruction", optional=True)
    first = (Message("system", system),) if system else ()
    turns = tuple(message for name in sorted(chat, key=_number) for message in _turn(chat[name], name))
    if not turns:
        raise fields.RowError("row.empty", key="chat")
    return Sample(record.line, messages=(*first, *turns))


def _number(name: str) -> tuple[int, str]:
    digits = name.removeprefix("turn_")
    return (int(digits), name) if digits.isdecimal() and len(digits) < 10 else (0, name)


def _turn(turn: Any, name: str) -> Iterator[Message]:
    if not isinstance(turn, dict):
        raise fields.RowError("row.not_object", found=fields.type_name(turn))
    where = f"chat.{name}."
    yield Message("user", _MARKERS.sub("", fields.string(turn, "Human", where=where)))
    yield Message("assistant", _MARKERS.sub("", fields.string(turn, "MOSS", where=where)))
