"""Reading one key of a row; a wrong one raises `RowError`, which becomes a Broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from engine.formats.records import Record, Repeated, json_object
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
            return Broken(record.line, error.reason, error.parameters, record.file)

    return sample


def mapping(value: Any, key: str = "") -> dict[str, Any]:
    """An object, none of whose keys is there twice. `key` is its place, if it is not the row itself."""
    if not isinstance(value, dict):
        found = type_name(value)
        raise RowError("row.not_object_at", key=key, found=found) if key else RowError("row.not_object", found=found)
    if isinstance(value, Repeated):
        raise RowError("row.duplicate_key", key=f"{key}.{value.key}" if key else value.key)
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
    if "\x00" in value:
        raise RowError("row.nul", key=key)
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
    """The list at `key`; one written as JSON text counts too, since a cell of CSV can hold nothing else."""
    if key not in row:
        raise RowError("row.missing_key", key=key)
    value = parsed(row[key]) if isinstance(row[key], str) else row[key]
    if not isinstance(value, list):
        raise RowError("row.not_list", key=key, found=type_name(row[key]))
    return value


def parsed(value: str) -> Any:
    """The JSON that a text is; the text itself if it is none."""
    try:
        return json.loads(value, object_pairs_hook=json_object)
    except (ValueError, RecursionError):
        return value


def described(row: dict[str, Any], key: str) -> str:
    """The descriptions of tools: JSON text, or what becomes one; empty if there are none."""
    value = row.get(key)
    if value is None:
        return ""
    if isinstance(value, (list, dict)):
        return json_text(value, key) if value else ""
    return text(value, key).strip()


def json_text(value: Any, key: str) -> str:
    """A value as JSON, once it is sure that all texts in it can be encoded."""
    try:
        return text(json.dumps(value, ensure_ascii=False), key)
    except (RecursionError, TypeError, ValueError):  # Parquet has values that JSON has not, such as dates
        raise RowError("row.not_json", key=key) from None


def type_name(value: Any) -> str:
    """JSON's own name of a value's type."""
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "object" if isinstance(value, dict) else type(value).__name__)
