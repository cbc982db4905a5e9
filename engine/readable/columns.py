"""Tables for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence


def aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of a table as lines; every row has as many cells."""
    widths = [max(_width(cell) for cell in column) for column in zip(*table, strict=True)]
    for line in table:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """Columns of a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
