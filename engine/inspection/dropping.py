"""Rows that are not used: counted by reason, the first of each kept, all of them written down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from engine.dataset_report import Drop, Example, Finding, Place
from engine.problems import Value

EXAMPLES = 10
WORD = 200
"""Characters of a value that came out of a row."""


class Examples:
    """Rows of one kind."""

    def __init__(self) -> None:
        self.rows = 0
        self.first: list[Example] = []

    def add(self, place: Place, parameters: Mapping[str, Value] | None = None) -> None:
        self.rows += 1
        if len(self.first) < EXAMPLES:
            self.first.append(Example(**place.model_dump(), parameters=dict(parameters or {})))

    def finding(self) -> Finding:
        return Finding(rows=self.rows, examples=tuple(self.first))


class Drops:
    """By reason."""

    def __init__(self) -> None:
        self._reasons: dict[str, Examples] = {}

    def add(self, reason: str, place: Place, parameters: Mapping[str, Value]) -> None:
        self._reasons.setdefault(reason, Examples()).add(place, parameters)

    @property
    def rows(self) -> int:
        return sum(one.rows for one in self._reasons.values())

    def listed(self) -> tuple[Drop, ...]:
        """The most frequent reason first."""
        found = sorted(self._reasons.items(), key=lambda item: (-item[1].rows, item[0]))
        return tuple(Drop(reason=reason, rows=one.rows, examples=tuple(one.first)) for reason, one in found)


class DropList:
    """`*.drops.jsonl`: a line a row, whole or absent: it gets its name when it is closed without an error."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._temporary = path and path.with_name(f".{path.name}.tmp")
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        if self._temporary is not None:
            self._file = self._temporary.open("w", encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None or self._temporary is None or self._path is None:
            return
        self._file.close()
        if kind is None:
            self._temporary.replace(self._path)
        else:
            self._temporary.unlink(missing_ok=True)

    def add(self, reason: str, place: Place, parameters: Mapping[str, Value]) -> None:
        if self._file is not None:
            value = {"file": place.file, "row": place.row, "line": place.line, "reason": reason}
            self._file.write(json.dumps({**value, "parameters": parameters}, ensure_ascii=False) + "\n")


def shown(value: str) -> str:
    """Words of a file, or its name, as they can be written down: half characters and wrong bytes are spelt out."""
    return value[:WORD].encode("utf-8", "backslashreplace").decode()


def parameters(values: Mapping[str, Value]) -> dict[str, Value]:
    return {key: shown(value) if isinstance(value, str) else value for key, value in values.items()}
