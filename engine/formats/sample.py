"""What a format reads out of a file: samples, and rows that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from engine.problems import Value

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One row. Either `messages` (a conversation that ends with the assistant) or `text`, never both."""

    line: int
    """Line of the file on which the row starts, from 1."""
    messages: tuple[Message, ...] = ()
    text: str | None = None
    tools: str = ""
    """Descriptions of the tools that the conversation may call, as the file has them; empty if none."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A row that cannot be used, or the place where the file itself breaks off."""

    line: int
    reason: str
    """Code of the text in `engine.problem_texts`, such as `row.missing_key`."""
    parameters: dict[str, Value] = field(default_factory=dict)
