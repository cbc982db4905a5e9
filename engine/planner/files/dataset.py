"""The dataset's file: is it there, and is every row of it right?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from engine import formats
from engine.failures import Failure
from engine.formats.records import Record, records
from engine.formats.sample import Broken, Sample
from engine.problems import Problem, Value
from engine.roots import Roots, resolved

PATH = "train.dataset.path"
SHOWN = 20
"""Broken rows that are named by their lines."""
MOST = 200_000_000
"""Characters that a check reads, some seconds' worth; preprocessing looks at every row in any case."""


@dataclass
class Scan:
    """What one pass over a dataset has found."""

    rows: int = 0
    broken: int = 0
    first: list[Broken] = field(default_factory=list)
    """The first SHOWN broken rows."""
    partly: bool = False
    """Was the file longer than MOST?"""
    empty_answers: int = 0
    first_empty: int = 0
    looks_like: str | None = None
    """Format of the first row, where it is another one than was asked for."""


def problems(path: str, choice: str | None, roots: Roots) -> Iterator[Problem]:
    """What is wrong with a dataset file; its rows are looked at if the format is known."""
    try:
        file = resolved(path, PATH, roots)
        size, changed = _usable(file, path)
        suffix = file.suffix.lower()
        if choice is not None and (not suffix or suffix in formats.get(choice).SUFFIXES):
            yield from _rows(path, choice, _cached(str(file), changed, size, choice))
    except Failure as failure:
        yield failure.problem
    except OSError as error:
        parameters: dict[str, Value] = {"path": path[:200], "error": error.strerror or type(error).__name__}
        yield Problem(code="dataset.unreadable", field=PATH, fault="site", parameters=parameters)


def rows(path: str, choice: str, roots: Roots) -> int | None:
    """The number of whole rows; None for a file that cannot be used, or is longer than a check reads."""
    try:
        file = resolved(path, PATH, roots)
        size, changed = _usable(file, path)
        found = _cached(str(file), changed, size, choice)
    except (Failure, OSError):
        return None
    return None if found.partly or found.looks_like else found.rows - found.broken


def _usable(file: Path, path: str) -> tuple[int, int]:
    """Size in bytes and time of the last change in ns."""
    code = None
    if not file.exists():
        code = "dataset.missing"
    elif not file.is_file():
        code = "dataset.not_a_file"
    elif file.stat().st_size == 0:
        code = "dataset.empty"
    if code is not None:
        raise Failure(code, PATH, path=path[:200])
    facts = file.stat()
    return facts.st_size, facts.st_mtime_ns


@lru_cache(maxsize=64)
def _cached(path: str, changed: int, size: int, choice: str) -> Scan:
    """`changed` and `size` are there to be part of the key: a file that has changed is read again."""
    return scan(Path(path), choice)


def scan(path: Path, choice: str) -> Scan:
    """Read every row. Raises OSError."""
    found = Scan(looks_like=_other_format(path, choice))
    if found.looks_like is not None:
        return found
    left = MOST
    for row in formats.get(choice).read(path):
        if left <= 0:
            found.partly = True
            break
        left -= _size(row)
        found.rows += 1
        if isinstance(row, Broken):
            found.broken += 1
            if len(found.first) < SHOWN:
                found.first.append(row)
        elif _answers_nothing(row):
            found.empty_answers += 1
            found.first_empty = found.first_empty or row.line
    return found


def _other_format(path: Path, choice: str) -> str | None:
    """The format that the first row looks like, if it does not look like the chosen one."""
    if path.suffix.lower() == ".txt":
        return None
    first = next(iter(records(path)), None)
    if not isinstance(first, Record) or formats.get(choice).sniff(first.value):
        return None
    return formats.looks_like(first.value)


def _size(row: Sample | Broken) -> int:
    """About how many characters it took to say this."""
    if isinstance(row, Broken):
        return 100
    return len(row.text or "") + sum(len(message.content) for message in row.messages) + 50


def _answers_nothing(row: Sample) -> bool:
    return bool(row.messages) and not row.messages[-1].content.strip()


def _rows(path: str, choice: str, found: Scan) -> Iterator[Problem]:
    if found.looks_like is not None:
        yield Problem(
            code="dataset.other_format",
            field="train.dataset.format",
            parameters={"format": choice, "looks_like": found.looks_like},
            nearest={"train.dataset.format": found.looks_like},
        )
    elif found.broken:
        yield _broken(path, found)
    elif not found.rows:
        yield Problem(code="dataset.no_rows", field=PATH, parameters={"path": path[:200]})
    else:
        yield from _remarks(found)


def _remarks(found: Scan) -> Iterator[Problem]:
    if found.empty_answers:
        parameters: dict[str, Value] = {"count": found.empty_answers, "line": found.first_empty, "rows": found.rows}
        yield Problem(code="dataset.empty_answers", field=PATH, severity="warning", parameters=parameters)
    if found.partly:
        yield Problem(code="dataset.partly", field=PATH, severity="note", parameters={"rows": found.rows})


def _broken(path: str, found: Scan) -> Problem:
    first = found.first[0]
    lines = ", ".join(str(row.line) for row in found.first) + (" …" if found.broken > SHOWN else "")
    return Problem(
        code="dataset.broken_rows",
        field=PATH,
        parameters={
            **first.parameters,
            "path": path[:200],
            "line": first.line,
            "why": first.reason,
            "count": found.broken,
            "rows": found.rows,
            "lines": lines,
        },
    )
