"""The dataset as LLaMA-Factory cannot misread it: data/train.jsonl and its entry in data/dataset_info.json.

Its own reading drops rows in silence: a turn out of order, a number for an answer, a column that the entry does not
name. So the rows are read as for our own engine and are written in one form: conversations by `from` and `value`, or
documents in `text`. What that form cannot say is a failure with its line:

- several results of tools in a row (its own joining of them is Qwen's spelling, whatever the template),
- text or thoughts in an answer that calls tools, and thoughts apart from an answer,
- descriptions of tools that are not a list of objects,
- `{{idx}}` in a question, for which it puts the number of the turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from engine.failures import Failure
from engine.formats import Message, Sample
from engine.frameworks.llama_factory.config import DATASET
from engine.frameworks.rewriting import PATH

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
NUMBER_OF_TURN = "{{idx}}"


def info(stage: str) -> str:
    """The text of dataset_info.json for a stage of ours."""
    entry = DOCUMENTS if stage == "pretrain" else CONVERSATIONS
    return json.dumps({DATASET: entry}, indent=2) + "\n"


def row(sample: Sample, path: str) -> dict[str, Any]:
    """A line of train.jsonl. Raises Failure `llama_factory.row`; path: the dataset, where the row names no file."""
    if sample.text is not None:
        return {"text": sample.text}
    found = next(_unsaid(sample), None)
    if found is not None:
        raise Failure("llama_factory.row", PATH, path=sample.file or path, line=sample.line, what=found)
    messages = list(sample.messages)
    system = messages.pop(0).content if messages[0].role == "system" else ""
    return {"conversations": [_turn(message) for message in messages], "system": system, "tools": sample.tools}


def _turn(message: Message) -> dict[str, str]:
    """A call of tools is an answer to us, and a role of its own to LLaMA-Factory."""
    if message.tool_calls:
        return {"from": "function_call", "value": _calls(message)}
    return {"from": TAGS[message.role], "value": message.content}


def _calls(message: Message) -> str:
    """JSON of one call, or of the list of several.

    It cuts `<think>…</think>` and `<tool_call>…</tool_call>` out of this text, and so out of arguments that hold them,
    before it reads the JSON; spelt as JSON's escape the sign is not found, and read it is the same.
    """
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
    text = json.dumps(calls if len(calls) > 1 else calls[0], ensure_ascii=False)
    return text.replace("<", "\\u003c")


def _unsaid(sample: Sample) -> Iterator[str]:
    """What LLaMA-Factory cannot be told of this row, as it is called in rows."""
    if sample.tools and not _are_descriptions(sample.tools):
        yield "tools"
    before = ""
    for message in sample.messages:
        if message.reasoning:
            yield "reasoning_content"
        if message.tool_calls and message.content.strip():
            yield "content + tool_calls"
        if message.role == before == "tool":
            yield "tool, tool"
        if message.role == "user" and NUMBER_OF_TURN in message.content:
            yield NUMBER_OF_TURN
        before = message.role


def _are_descriptions(text: str) -> bool:
    try:
        tools = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)
