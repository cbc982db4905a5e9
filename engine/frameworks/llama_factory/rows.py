"""The dataset as LLaMA-Factory cannot misread it: data/train.jsonl and its entry in data/dataset_info.json.

Its own reading drops rows in silence: a turn out of order, a number for an answer, a column that the entry does not
name. So the rows are read as for our own engine, where a broken one is a failure with its line, and are written in one
form: conversations by `from` and `value`, or documents in `text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from engine import formats
from engine.failures import Failure
from engine.formats import Broken, DataFile, Message, Sample
from engine.frameworks.llama_factory.config import DATASET
from engine.problems import Value
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


def lines(choice: DatasetChoice, files: tuple[DataFile, ...]) -> Iterator[str]:
    """Lines of train.jsonl. Raises Failure at a broken row: the data is not what was meant."""
    try:
        for item in formats.read(choice, files):
            if isinstance(item, Broken):
                where: dict[str, Value] = {"path": choice.path, "line": item.line, "why": item.reason}
                raise Failure("preprocess.broken_row", "train.dataset.path", **(item.parameters | where))
            yield json.dumps(_row(item), ensure_ascii=False) + "\n"
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("preprocess.unreadable", "train.dataset.path", path=choice.path, reason=reason) from error


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
