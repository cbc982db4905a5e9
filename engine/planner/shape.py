"""A request of a wrong shape → Problems on the wrong fields, and the rest still usable.

Fields that are wrong get a stand-in, so that the rules can run on all the others.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from engine.problems import Problem, Value
from engine.spec import JobSpec

STAND_IN: dict[str, Any] = {
    "spec_version": 1,
    "kind": "train",
    "name": "-",
    "model": "-",
    "model_path": "-",
    "framework": "native",
    "hardware": "-",
    "devices": 1,
    "train": {
        "stage": "sft",
        "strategy": "full",
        "dataset": {"path": "-", "format": "alpaca"},
        "seq_length": 8,
    },
}
"""A valid request, from which stand-ins are taken. A field that is not here has a default."""

_NUMBERS = {
    "int_type": "shape.not_integer",
    "int_parsing": "shape.not_integer",
    "int_parsing_size": "shape.not_integer",
    "int_from_float": "shape.not_integer",
    "float_type": "shape.not_number",
    "float_parsing": "shape.not_number",
    "finite_number": "shape.not_number",
    "bool_type": "shape.not_boolean",
    "bool_parsing": "shape.not_boolean",
    "string_type": "shape.not_text",
    "string_unicode": "shape.not_text",
    "string_too_short": "shape.empty",
    "tuple_type": "shape.not_list",
    "model_type": "shape.not_object",
    "missing": "shape.missing",
    "too_short": "shape.empty",
    "control_characters": "shape.control_characters",
}
_LIMITS = {
    "greater_than": ("shape.not_above", "gt"),
    "greater_than_equal": ("shape.too_small", "ge"),
    "less_than": ("shape.not_below", "lt"),
    "less_than_equal": ("shape.too_large", "le"),
    "string_too_long": ("shape.too_long", "max_length"),
    "too_long": ("shape.too_many", "max_length"),
}
MOST = 50
"""Findings of the shape that are told one by one; the rest is counted."""
LONGEST_NAME = 100
"""Characters of an unknown key that are shown."""


@dataclass
class Shape:
    """A request after its shape has been looked at."""

    spec: JobSpec
    """The request; with stand-ins in the wrong fields."""
    problems: list[Problem] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    """Dotted paths of the fields that hold a stand-in."""
    untold: int = 0
    """Findings beyond MOST."""

    def has(self, path: str) -> bool:
        """Is the value at this path, and all in it, the person's own?"""
        return not any(path == bad or path.startswith(f"{bad}.") or bad.startswith(f"{path}.") for bad in self.wrong)


def look(data: JobSpec | Mapping[str, Any]) -> Shape:
    """Check the shape of a request, finding every fault of it."""
    if isinstance(data, JobSpec):
        return Shape(data)
    if not isinstance(data, Mapping):
        problem = Problem(code="shape.not_object", field="")
        return Shape(JobSpec.model_validate(STAND_IN), [problem], set(STAND_IN))
    repaired = _plain(data)
    shape = Shape(JobSpec.model_validate(STAND_IN))
    while True:
        try:
            shape.spec = JobSpec.model_validate(repaired)
            if shape.untold:
                shape.problems.append(Problem(code="shape.more", field="", parameters={"count": shape.untold}))
            return shape
        except ValidationError as error:
            for details in error.errors(include_url=False, include_context=True):
                _note(shape, details, repaired)


def _plain(value: Any) -> Any:
    """A copy to repair, in which every key is text that can be printed."""
    if isinstance(value, Mapping):
        return {printable(str(key)): _plain(part) for key, part in value.items()}
    return value


def printable(text: str) -> str:
    """Half characters, which JSON can spell and no terminal or file takes, become question marks."""
    return text.encode("utf-8", "replace").decode()


def _note(shape: Shape, details: ErrorDetails, repaired: dict[str, Any]) -> None:
    keys = _keys(details["loc"])
    if details["type"] == "missing" and isinstance(_stand_in(keys), dict):
        _put(repaired, keys, {})  # what is missing in it is found in the next round, field by field
        return
    path = ".".join(keys)
    if len(shape.problems) < MOST and path not in shape.wrong:
        shape.problems.append(_problem(path, details))
    elif path not in shape.wrong:
        shape.untold += 1
    if details["type"] != "extra_forbidden" or len(shape.wrong) < MOST:  # no rule reads a field that no spec has
        shape.wrong.add(path)
    _put(repaired, keys, _stand_in(keys))


def _keys(location: tuple[int | str, ...]) -> list[str]:
    """The path down to the first list index: a list is wrong as a whole."""
    keys: list[str] = []
    for key in location:
        if isinstance(key, int):
            break
        keys.append(key)
    return keys


def _stand_in(keys: list[str]) -> Any:
    value: Any = STAND_IN
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return copy.deepcopy(value)


def _put(data: dict[str, Any], keys: list[str], value: Any) -> None:
    """Set, or take out where None: the default then stands in."""
    for key in keys[:-1]:
        data = data[key]
    if value is None:
        data.pop(keys[-1], None)
    else:
        data[keys[-1]] = value


def _problem(path: str, details: ErrorDetails) -> Problem:
    kind, context = details["type"], details.get("ctx") or {}
    if kind == "extra_forbidden":
        return _unknown(path)
    if kind == "literal_error":
        return _not_one_of(path, details)
    if kind in _LIMITS:
        code, name = _LIMITS[kind]
        limit = context[name]
        inclusive = code in ("shape.too_small", "shape.too_large")
        nearest: dict[str, Value] = {path: limit} if inclusive else {}
        return Problem(code=code, field=path, parameters={"limit": limit}, nearest=nearest)
    code = _NUMBERS.get(kind, "shape.invalid")
    parameters: dict[str, Value] = {} if code != "shape.invalid" else {"kind": kind}
    return Problem(code=code, field=path, parameters=parameters)


def _unknown(path: str) -> Problem:
    """A key that no spec has; most often a misspelt one."""
    parent, _, name = path[: 2 * LONGEST_NAME].rpartition(".")
    name = name[:LONGEST_NAME]
    near = get_close_matches(name, _fields(parent), n=1)
    field = f"{parent}.{name}" if parent else name
    return Problem(code="shape.unknown", field=field, parameters={"name": name, "near": near[0] if near else "-"})


def _fields(parent: str) -> list[str]:
    """Names of the fields of one part of a spec."""
    part: type[BaseModel] = JobSpec
    for key in filter(None, parent.split(".")):
        annotation = part.model_fields[key].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        part = annotation
    return list(part.model_fields)


def _not_one_of(path: str, details: ErrorDetails) -> Problem:
    expected = str((details.get("ctx") or {}).get("expected", ""))
    allowed = [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]
    given = details["input"]
    near = get_close_matches(given.lower(), allowed, n=1) if isinstance(given, str) else []
    return Problem(
        code="shape.not_one_of",
        field=path,
        parameters={"allowed": ", ".join(allowed), "given": _short(given)},
        nearest={path: near[0]} if near else {},
    )


def _short(value: Any) -> str:
    if isinstance(value, str):
        return printable(value[:80])
    return "null" if value is None else str(value)[:80]
