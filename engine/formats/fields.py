"""Reading one key of a row; a wrong one raises `RowError`, which becomes a Broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.formats.records import Record
from engine.formats.sample import Broken, Sample
from engine.problems import Value


class RowError(Exception):
    """A row cannot be used."""

    def __init__(self, reason: str, **parameters: Value) -> None:
        super().__init__(reason)
        self.reason = reason
        self.parameters = parameters


def guarded(read: Callable[[Record], Sample]) -> Callable[[Record], Sample | Broken]:
    """Turn a RowError of `read` into a Broken on the row's line."""

    def sample(record: Record) -> Sample | Broken:
        try:
            return read(record)
        except RowError as error:
            return Broken(record.line, error.reason, error.parameters)

    return sample


def mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RowError("row.not_object", found=type_name(value))
    return value


def string(row: dict[str, Any], key: str, *, optional: bool = False, where: str = "") -> str:
    """The text at `key`; a missing or null one is empty if `optional`."""
    if key not in row or (row[key] is None and optional):
        if optional:
            return ""
        raise RowError("row.missing_key", key=where + key)
    return text(row[key], where + key)


def text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise RowError("row.not_text", key=key, found=type_name(value))
    if not value.isascii():
        _check_unicode(value, key)
    return value


def _check_unicode(value: str, key: str) -> None:
    """JSON can spell half of a surrogate pair (\\ud83d), which no tokenizer takes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise RowError("row.bad_unicode", key=key) from None


def items(row: dict[str, Any], key: str) -> list[Any]:
    """The list at `key`."""
    if key not in row:
        raise RowError("row.missing_key", key=key)
    if not isinstance(row[key], list):
        raise RowError("row.not_list", key=key, found=type_name(row[key]))
    return list(row[key])


def type_name(value: Any) -> str:
    """JSON's own name of a value's type."""
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), type(value).__name__)
