"""Alpaca: `instruction`, `input` (optional, joined on a new line), `output`, `system`, `history`, `tools`.

`history` is a list of earlier [question, answer] pairs. Other keys are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from engine.formats import fields
from engine.formats.records import Record
from engine.formats.sample import Message, Sample
from engine.spec import ColumnNames, TagNames

SUFFIXES = (".json", ".jsonl", ".csv", ".parquet")
COLUMNS = ("prompt", "query", "response", "history", "system", "tools")
TAGS: tuple[str, ...] = ()


def sniff(record: Any) -> bool:
    return isinstance(record, dict) and "instruction" in record and "output" in record


def reader(columns: ColumnNames, tags: TagNames) -> Callable[[Record], Sample]:
    prompt, query = columns.prompt or "instruction", columns.query or "input"
    response, history = columns.response or "output", columns.history or "history"
    system_key, tools = columns.system or "system", columns.tools or "tools"

    def sample(record: Record) -> Sample:
        row = fields.mapping(record.value)
        instruction = fields.string(row, prompt)
        extra = fields.string(row, query, optional=True)
        output = fields.string(row, response)
        question = "\n".join(part for part in (instruction, extra) if part.strip())
        if not question:
            raise fields.RowError("row.empty", key=prompt)
        system = fields.string(row, system_key, optional=True)
        first = (Message("system", system),) if system else ()
        last = (Message("user", question), Message("assistant", output))
        messages = (*first, *_history(row, history), *last)
        return Sample(record.line, messages, tools=fields.described(row, tools), file=record.file)

    return sample


def _history(row: dict[str, Any], key: str) -> Iterator[Message]:
    if row.get(key) is None or row[key] == "":
        return
    for number, pair in enumerate(fields.items(row, key)):
        where = f"{key}[{number}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise fields.RowError("row.not_pair", key=where)
        yield Message("user", _said(pair[0], f"{where}[0]"))
        yield Message("assistant", fields.text(pair[1], f"{where}[1]"))


def _said(value: Any, key: str) -> str:
    question = fields.text(value, key)
    if not question.strip():
        raise fields.RowError("row.empty", key=key)
    return question
