"""The dataset as LLaMA-Factory cannot misread it: data/train.jsonl and its entry in data/dataset_info.json.

Its own reading drops rows in silence: a turn out of order, a number for an answer, a column that the entry does not
name. So the rows are read as for our own engine, where a broken one is a failure with its line, and are written in one
form: conversations by `from` and `value`, or documents in `text`. What it would still drop is counted and told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine import formats
from engine.failures import Failure
from engine.formats import Broken, Message, Sample
from engine.frameworks.llama_factory.config import DATASET
from engine.problems import Problem, Value

EXAMPLES = 5
TAGS = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}
ASKS, ANSWERS = ("user", "tool"), ("assistant",)
CONVERSATIONS: dict[str, Any] = {
    "file_name": "train.jsonl",
    "formatting": "sharegpt",
    "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
    "tags": {
        "role_tag": "from",
        "content_tag": "value",
        "user_tag": "human",
        "assistant_tag": "gpt",
        "observation_tag": "observation",
        "function_tag": "function_call",
        "system_tag": "system",
    },
}
"""Every key is named: as soon as one is, those left out are none and not their default."""
DOCUMENTS: dict[str, Any] = {"file_name": "train.jsonl", "formatting": "alpaca", "columns": {"prompt": "text"}}


@dataclass
class Count:
    read: int = 0
    kept: int = 0
    lines: list[int] = field(default_factory=list)
    """Of the first rows that were left out."""

    def problem(self) -> Problem:
        """What a person should know of rows that were left out."""
        parameters: dict[str, Value] = {
            "read": self.read,
            "dropped": self.read - self.kept,
            "lines": ", ".join(map(str, self.lines)),
        }
        code, place = "llama_factory.rows_out_of_turn", "train.dataset.path"
        return Problem(code=code, field=place, severity="warning", parameters=parameters)


def info(stage: str) -> str:
    """The text of dataset_info.json for a stage of ours."""
    entry = DOCUMENTS if stage == "pretrain" else CONVERSATIONS
    return json.dumps({DATASET: entry}, indent=2) + "\n"


def lines(path: Path, dataset_format: str, count: Count) -> Iterator[str]:
    """Lines of train.jsonl. Raises Failure at a broken row: the data is not what was meant."""
    try:
        for item in formats.get(dataset_format).read(path):
            if isinstance(item, Broken):
                where: dict[str, Value] = {"path": str(path), "line": item.line, "why": item.reason}
                raise Failure("preprocess.broken_row", "train.dataset.path", **(item.parameters | where))
            count.read += 1
            row = _row(item)
            if row is not None:
                count.kept += 1
                yield json.dumps(row, ensure_ascii=False) + "\n"
            elif len(count.lines) < EXAMPLES:
                count.lines.append(item.line)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("preprocess.unreadable", "train.dataset.path", path=str(path), reason=reason) from error


def _row(sample: Sample) -> dict[str, Any] | None:
    """None for a conversation that does not alternate or does not end with an answer."""
    if sample.text is not None:
        return {"text": sample.text}
    messages = list(sample.messages)
    system = messages.pop(0).content if messages and messages[0].role == "system" else ""
    if not messages or len(messages) % 2 or not all(map(_in_turn, range(len(messages)), messages)):
        return None
    turns = [{"from": TAGS[message.role], "value": message.content} for message in messages]
    return {"conversations": turns, "system": system, "tools": sample.tools}


def _in_turn(place: int, message: Message) -> bool:
    return message.role in (ANSWERS if place % 2 else ASKS)
