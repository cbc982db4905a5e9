"""Alpaca: `instruction`, `input` (optional, joined on a new line), `output`, `system`, `history`.

`history` is a list of earlier [question, answer] pairs. Other keys are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.formats import fields
from engine.formats.records import Record, read_with
from engine.formats.sample import Broken, Message, Sample

SUFFIXES = (".json", ".jsonl")


def sniff(record: Any) -> bool:
    return isinstance(record, dict) and "instruction" in record and "output" in record


def read(path: Path) -> Iterator[Sample | Broken]:
    return read_with(path, fields.guarded(_sample))


def _sample(record: Record) -> Sample:
    row = fields.mapping(record.value)
    instruction = fields.string(row, "instruction")
    extra = fields.string(row, "input", optional=True)
    output = fields.string(row, "output")
    question = "\n".join(part for part in (instruction, extra) if part.strip())
    if not question:
        raise fields.RowError("row.empty", key="instruction")
    system = fields.string(row, "system", optional=True)
    first = (Message("system", system),) if system else ()
    last = (Message("user", question), Message("assistant", output))
    return Sample(record.line, messages=(*first, *_history(row), *last))


def _history(row: dict[str, Any]) -> Iterator[Message]:
    if row.get("history") is None:
        return
    for number, pair in enumerate(fields.items(row, "history")):
        if not isinstance(pair, list) or len(pair) != 2:
            raise fields.RowError("row.not_pair", key=f"history[{number}]")
        yield Message("user", fields.text(pair[0], f"history[{number}][0]"))
        yield Message("assistant", fields.text(pair[1], f"history[{number}][1]"))
