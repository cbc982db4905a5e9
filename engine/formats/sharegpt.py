"""ShareGPT: `conversations` of `from` and `value`; `system` and `tools` beside it are optional.

The order is checked: an optional system message (it takes the place of the `system` key), then in turn
human or observation, and gpt or function_call, ending with one of the latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.formats import fields
from engine.formats.records import Record, read_with
from engine.formats.sample import Broken, Message, Role, Sample

SUFFIXES = (".json", ".jsonl")
ASKING: dict[str, Role] = {"human": "user", "observation": "tool"}
ANSWERING: dict[str, Role] = {"gpt": "assistant", "function_call": "assistant"}


def sniff(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("conversations"), list)


def read(path: Path) -> Iterator[Sample | Broken]:
    return read_with(path, fields.guarded(_sample))


def _sample(record: Record) -> Sample:
    row = fields.mapping(record.value)
    turns = [_turn(turn, number) for number, turn in enumerate(fields.items(row, "conversations"))]
    system = fields.string(row, "system", optional=True)
    if turns and turns[0][0] == "system":
        system = turns.pop(0)[1]
    first = (Message("system", system),) if system else ()
    tools = fields.string(row, "tools", optional=True)
    return Sample(record.line, messages=(*first, *_in_order(turns)), tools=tools)


def _turn(turn: Any, number: int) -> tuple[str, str]:
    where = f"conversations[{number}]."
    if not isinstance(turn, dict):
        raise fields.RowError("row.not_object", found=fields.type_name(turn))
    return fields.string(turn, "from", where=where), fields.string(turn, "value", where=where)


def _in_order(turns: list[tuple[str, str]]) -> Iterator[Message]:
    if not turns:
        raise fields.RowError("row.empty", key="conversations")
    for number, (speaker, value) in enumerate(turns, start=1):
        allowed = ASKING if number % 2 else ANSWERING
        if speaker not in allowed:
            raise fields.RowError("row.role_order", number=number, found=speaker, expected=" / ".join(allowed))
        yield Message(allowed[speaker], value)
    if len(turns) % 2:
        raise fields.RowError("row.no_answer", found=turns[-1][0])
