"""`Record`: a row as its file holds it, before a format makes a Sample of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LONGEST_ROW = 8 << 20
"""Bytes of one row; a good book has 2 MB. One beyond is said to be broken: the tokenizers library takes 110 bytes of
memory for each of them (measured with Llama 3.1's: 8 MB 0.9 GB and 8 s, 4 MB 0.4 GB and 5 s, 30 MB 3.3 GB and 50 s),
and every core may have one at the same time."""


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
