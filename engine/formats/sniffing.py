"""Which format the rows of a dataset have, and why that is thought; the person can overrule it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from engine.formats.files import DataFile
from engine.formats.kinds import ParquetReader, records
from engine.formats.records import Record
from engine.plan import Reason
from engine.problems import Value
from engine.spec import ColumnNames, TagNames

LOOKED_AT = 20
"""Rows at the begin of the first file."""
_QUESTIONS = ("instruction", "prompt", "question", "query", "problem", "input")
_ANSWERS = ("output", "response", "answer", "completion", "solution", "target")
_TEXTS = ("text", "content", "raw_content", "document", "body")
_TURNS = ("conversations", "messages", "conversation", "dialogue", "dialog", "turns", "chat")


@dataclass(frozen=True)
class Sniffed:
    """What a dataset looks like."""

    format: str | None
    """None where nothing fits, or nothing could be read; `why` says which."""
    why: Reason
    columns: ColumnNames = field(default_factory=ColumnNames)
    """Names of columns to give with the format, where the rows have other ones than its own."""
    tags: TagNames = field(default_factory=TagNames)


def sniff(files: Sequence[DataFile], parquet: ParquetReader | None = None) -> Sniffed:
    """Look at the first rows. Raises OSError."""
    if files[0].path.suffix.lower() == ".txt":
        return Sniffed("text", _reason("sniff.text_file", file=files[0].name))
    found = list(islice(records(files[0], "", parquet), LOOKED_AT))
    rows = [one.value for one in found if isinstance(one, Record) and isinstance(one.value, dict)]
    if not rows:
        first = next((one for one in found if not isinstance(one, Record)), None)
        if first is None:
            return Sniffed(None, _reason("sniff.no_rows", file=files[0].name))
        named: dict[str, Value] = {**first.parameters, "file": files[0].name, "line": first.line, "why": first.reason}
        return Sniffed(None, _reason("sniff.unreadable", **named))
    return _of_row(rows[0], files[0].name) if len(rows) == 1 else _of_rows(rows, files[0].name)


def _of_rows(rows: Sequence[dict[str, Any]], file: str) -> Sniffed:
    """The first row that says something; a first row alone may lack what is optional."""
    return next((one for row in rows if (one := _of_row(row, file)).format is not None), _of_row(rows[0], file))


def _of_row(row: dict[str, Any], file: str) -> Sniffed:
    turns = next((key for key in _TURNS if isinstance(row.get(key), (list, dict)) and row[key]), None)
    if turns is not None and isinstance(row[turns], dict):
        return _moss(turns) if _is_moss(row[turns]) else _unknown(row, file)
    if turns is not None and isinstance(row[turns][0], dict):
        return _turns(turns, row[turns], row, file)
    answer = _first(row, _ANSWERS)
    question = _first(row, tuple(name for name in _QUESTIONS if name != answer))
    if answer is not None and question is not None:
        return _alpaca(row, question, answer)
    text = _first(row, _TEXTS)
    if text is not None and answer is None:
        return Sniffed("text", _why("sniff.text", text), ColumnNames(text=_other(text, "text")))
    return _unknown(row, file)


def _first(row: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if isinstance(row.get(name), str)), None)


def _why(code: str, *keys: str) -> Reason:
    return _reason(code, keys=", ".join(keys))


def _reason(code: str, **parameters: Value) -> Reason:
    return Reason(decision="dataset.format", code=code, parameters=parameters)


def _other(name: str, own: str) -> str | None:
    """A name to give: none where it is the format's own."""
    return None if name == own else name


def _unknown(row: dict[str, Any], file: str) -> Sniffed:
    keys = ", ".join(list(row)[:12])[:200]
    return Sniffed(None, _reason("sniff.unknown", keys=keys or "-", file=file))


def _is_moss(chat: dict[str, Any]) -> bool:
    return all(isinstance(turn, dict) and "Human" in turn and "MOSS" in turn for turn in chat.values())


def _moss(key: str) -> Sniffed:
    return Sniffed("moss", _why("sniff.moss", key), ColumnNames(messages=_other(key, "chat")))


def _alpaca(row: dict[str, Any], question: str, answer: str) -> Sniffed:
    extra = "input" if question != "input" and "input" in row else None
    columns = ColumnNames(prompt=_other(question, "instruction"), response=_other(answer, "output"))
    keys = (question, *([extra] if extra else []), answer)
    return Sniffed("alpaca", _why("sniff.alpaca", *keys), columns)


def _turns(key: str, turns: list[Any], row: dict[str, Any], file: str) -> Sniffed:
    """`from` and `value` are ShareGPT's, `role` and `content` OpenAI's."""
    words = [one.get("from", one.get("role")) for one in turns if isinstance(one, dict)]
    said = {word for word in words if isinstance(word, str)}  # what is none cannot be in a set either
    if "from" in turns[0] and "value" in turns[0]:
        tags = TagNames(user=_foreign(said, "human", ("user",)), assistant=_foreign(said, "gpt", ("assistant", "bot")))
        return Sniffed(
            "sharegpt", _why("sniff.sharegpt", key), ColumnNames(messages=_other(key, "conversations")), tags
        )
    if "role" in turns[0] and ("content" in turns[0] or "tool_calls" in turns[0]):
        tags = TagNames(
            user=_foreign(said, "user", ("human",)), assistant=_foreign(said, "assistant", ("gpt", "bot", "model"))
        )
        return Sniffed("openai", _why("sniff.openai", key), ColumnNames(messages=_other(key, "messages")), tags)
    return _unknown(row, file)


def _foreign(said: set[str], own: str, others: tuple[str, ...]) -> str | None:
    """The word of these rows for a role, where it is not the format's own."""
    return None if own in said else next((word for word in others if word in said), None)
