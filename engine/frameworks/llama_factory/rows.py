"""The dataset as LLaMA-Factory cannot misread it: data/train.jsonl and its entry in data/dataset_info.json.

Its own reading drops rows in silence: a turn out of order, a number for an answer, a column that the entry does not
name. So the rows are read as for our own engine, where a broken one is a failure with its line, and are written in one
form: conversations by `from` and `value`, or documents in `text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine import formats
from engine.failures import Failure
from engine.formats import Broken, Sample
from engine.formats.records import Record, records
from engine.frameworks.llama_factory.config import DATASET
from engine.problems import Value

TAGS = {"user": "human", "assistant": "gpt", "tool": "observation"}
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


def info(stage: str) -> str:
    """The text of dataset_info.json for a stage of ours."""
    entry = DOCUMENTS if stage == "pretrain" else CONVERSATIONS
    return json.dumps({DATASET: entry}, indent=2) + "\n"


def lines(path: Path, dataset_format: str) -> Iterator[str]:
    """Lines of train.jsonl. Raises Failure at a broken row: the data is not what was meant."""
    try:
        for item, record in zip(formats.get(dataset_format).read(path), _records(path, dataset_format), strict=False):
            if isinstance(item, Broken):
                where: dict[str, Value] = {"path": str(path), "line": item.line, "why": item.reason}
                raise Failure("preprocess.broken_row", "train.dataset.path", **(item.parameters | where))
            yield json.dumps(_row(item, record), ensure_ascii=False) + "\n"
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("preprocess.unreadable", "train.dataset.path", path=str(path), reason=reason) from error


def _records(path: Path, dataset_format: str) -> Iterator[Record | Broken | None]:
    """The rows as they are in the file, one for each sample, where more is asked of them than a sample tells."""
    if dataset_format == "sharegpt":
        yield from records(path)
    while True:
        yield None


def _row(sample: Sample, record: Record | Broken | None) -> dict[str, Any]:
    if sample.text is not None:
        return {"text": sample.text}
    messages = list(sample.messages)
    system = messages.pop(0).content if messages[0].role == "system" else ""
    speakers = [TAGS[message.role] for message in messages]
    if isinstance(record, Record):  # a call of a tool is an answer to us, and a role of its own to LLaMA-Factory
        speakers = [turn["from"] for turn in record.value["conversations"]][-len(messages) :]
    turns = [{"from": who, "value": message.content} for who, message in zip(speakers, messages, strict=True)]
    return {"conversations": turns, "system": system, "tools": sample.tools}
