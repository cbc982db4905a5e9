"""Calls of tools as rows spell them: an object or a list of objects, JSON text of either, in two dialects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.formats import fields
from engine.formats.sample import ToolCall


def of_text(value: str) -> tuple[ToolCall, ...]:
    """The calls that a text of JSON describes; none if it is something else, which is then an answer as it stands."""
    found = fields.parsed(value) if value.lstrip()[:1] in ("{", "[") else None
    calls = found if isinstance(found, list) else [found]
    if not calls or not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        return ()
    return tuple(_calls(calls, "function_call"))


def of_list(value: Any, key: str) -> tuple[ToolCall, ...]:
    """`tool_calls` of an openai message; null means none. Raises RowError."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = fields.parsed(value)
    if not isinstance(value, list):
        raise fields.RowError("row.not_list", key=key, found=fields.type_name(value))
    return tuple(_calls(value, key))


def _calls(values: list[Any], key: str) -> Iterator[ToolCall]:
    for number, value in enumerate(values):
        where = f"{key}[{number}]"
        call = fields.mapping(value, where)
        if isinstance(call.get("function"), dict):  # openai wraps it, with an id and a type
            call = fields.mapping(call["function"], f"{where}.function")
        name = fields.string(call, "name", where=f"{where}.")
        if not name.strip():
            raise fields.RowError("row.empty", key=f"{where}.name")
        yield ToolCall(name, _arguments(call, where))


def _arguments(call: dict[str, Any], where: str) -> Any:
    """Dialects: `arguments`, `parameters`; an object, or JSON text of one."""
    value = call.get("arguments", call.get("parameters"))
    if isinstance(value, str):
        value = fields.parsed(fields.text(value, f"{where}.arguments"))
    if isinstance(value, dict):
        fields.mapping(value, f"{where}.arguments")
    fields.json_text(value, f"{where}.arguments")
    return {} if value is None or value == "" else value
