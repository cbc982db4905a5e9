"""What a format reads out of a file: samples, and rows that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from engine.problems import Value

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model calls."""

    name: str
    arguments: Any
    """The JSON value as the row has it, nearly always an object; a string of JSON has been parsed."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str
    """Empty where an answer is nothing but calls of tools."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant."""
    reasoning: str = ""
    """What an assistant thought before the answer, where the row has it apart (`reasoning_content`)."""
    name: str = ""
    """Of a tool's result: the tool, where the row has it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One row. Either `messages` (a conversation that ends with the assistant) or `text`, never both."""

    line: int
    """Line of the file on which the row starts, from 1."""
    messages: tuple[Message, ...] = ()
    text: str | None = None
    tools: str = ""
    """Descriptions of the tools that the conversation may call: JSON where the file has JSON; empty if none."""
    file: str = ""
    """File of the row below the dataset's folder; empty where a single file was read by its format."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A row that cannot be used, or the place where the file itself breaks off."""

    line: int
    reason: str
    """Code of the text in `engine.problem_texts`, such as `row.missing_key`."""
    parameters: dict[str, Value] = field(default_factory=dict)
    file: str = ""
    ends: bool = False
    """Is nothing behind it read? How many rows are lost there is not known."""
