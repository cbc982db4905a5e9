"""`Record`: a row as its file holds it, before a format makes a Sample of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LONGEST_ROW = 32 << 20
"""Bytes of one row. One beyond is said to be broken: it would take gigabytes to tokenize, and a good book has 2 MB."""


@dataclass(frozen=True, slots=True)
class Record:
    line: int
    value: Any
    file: str = ""


class Repeated(dict[str, Any]):
    """An object that has a key twice. Python keeps the last and says nothing, so formats refuse it."""

    key = ""


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """`object_pairs_hook` for reading JSON."""
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    repeated, seen = Repeated(value), set[str]()
    for key, _ in pairs:
        if key in seen:
            repeated.key = key
        seen.add(key)
    return repeated
