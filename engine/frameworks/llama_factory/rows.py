"""The dataset as LLaMA-Factory cannot misread it: data/train.jsonl and its entry in data/dataset_info.json.

Its own reading drops rows in silence: a turn out of order, a number for an answer, a column that the entry does not
name. So the rows are read as for our own engine, where a broken one is a failure with its line, and are written in one
form: conversations by `from` and `value`, or documents in `text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from engine.formats import DataFile, Message, Sample, broken_rows
from engine.frameworks.llama_factory.config import DATASET
from engine.preparation import Dropped
from engine.spec import DatasetChoice

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


def lines(choice: DatasetChoice, files: tuple[DataFile, ...], dropped: Dropped | None = None) -> Iterator[str]:
    """Lines of train.jsonl; `dropped` counts the rows that are left out. Raises Failure as `broken_rows.rows` does."""
    for sample in broken_rows.usable(choice, files, (dropped or Dropped()).add_broken):
        yield json.dumps(_row(sample), ensure_ascii=False) + "\n"


def _row(sample: Sample) -> dict[str, Any]:
    if sample.text is not None:
        return {"text": sample.text}
    messages = list(sample.messages)
    system = messages.pop(0).content if messages[0].role == "system" else ""
    return {"conversations": [_turn(message) for message in messages], "system": system, "tools": sample.tools}


def _turn(message: Message) -> dict[str, str]:
    """A call of a tool is an answer to us, and a role of its own to LLaMA-Factory, without room for words."""
    calls: list[Any] = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    spelled = json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False) if calls else ""
    thought = f"<think>\n{message.reasoning}\n</think>\n\n" if message.reasoning else ""
    if calls and not message.content and not thought:
        return {"from": "function_call", "value": spelled}
    words = "\n".join(filter(None, (message.content, spelled)))
    return {"from": TAGS[message.role], "value": thought + words}
