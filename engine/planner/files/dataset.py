"""The dataset's files: are they there, and is every row of them right?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath

from engine import formats
from engine.failures import Failure
from engine.formats import DataFile
from engine.formats.files import regular
from engine.formats.kinds import records
from engine.formats.records import Record
from engine.formats.sample import Broken, Sample
from engine.problems import Problem, Severity, Value
from engine.roots import Roots
from engine.spec import ColumnNames, DatasetChoice

PATH = "train.dataset.path"
COLUMNS = "train.dataset.columns"
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
    unread: int = 0
    """Files that only the engine's process can read: Parquet."""
    several: bool = False
    """Is there more than one file, so that a line alone says too little?"""
    broken_off: int = 0
    """Files of which nothing is read behind a broken row."""
    first_off: Broken | None = None
    absent: tuple[tuple[str, str], ...] = ()
    """Fields of `columns` whose names the first row does not have."""


Choice = DatasetChoice | str | None
"""The whole choice, the bare name of a format, or nothing that could be used."""


def problems(path: str, choice: Choice, roots: Roots) -> Iterator[Problem]:
    """What is wrong with the files of a dataset; their rows are looked at if the format is known."""
    try:
        files = regular(formats.find(path, roots))
        facts = _facts(files, path)
        chosen = _chosen(choice)
        if chosen is None:
            return
        wrong = [file for file in files if not _readable(file, chosen.format)]
        if wrong:
            yield _ending(wrong[0], chosen.format)
        else:
            yield from _rows(path, chosen, _cached(files, facts, chosen))
    except Failure as failure:
        yield failure.problem
    except OSError as error:
        parameters: dict[str, Value] = {"path": path[:200], "error": error.strerror or type(error).__name__}
        yield Problem(code="dataset.unreadable", field=PATH, fault="site", parameters=parameters)


def rows(path: str, choice: Choice, roots: Roots) -> int | None:
    """The number of whole rows; None for a dataset that cannot be used, or that a check does not read to its end."""
    chosen = _chosen(choice)
    if chosen is None:
        return None
    try:
        files = regular(formats.find(path, roots))
        found = _cached(files, _facts(files, path), chosen)
    except (Failure, OSError):
        return None
    return None if found.partly or found.looks_like or found.unread else found.rows - found.broken


def _chosen(choice: Choice) -> DatasetChoice | None:
    """Without its path: what is read does not depend on how the path was written."""
    if choice is None:
        return None
    if isinstance(choice, str):
        return DatasetChoice.model_validate({"path": "-", "format": choice})
    return choice.model_copy(update={"path": "-"})


Facts = tuple[tuple[int, int], ...]
"""Of each file: size in bytes and time of the last change in ns."""


def _facts(files: tuple[DataFile, ...], path: str) -> Facts:
    """Raises Failure `dataset.empty` if there is not a byte."""
    stats = [file.path.stat() for file in files]
    if not any(stat.st_size for stat in stats):
        raise Failure("dataset.empty", PATH, path=path[:200])
    return tuple((stat.st_size, stat.st_mtime_ns) for stat in stats)


def _readable(file: DataFile, choice: str) -> bool:
    """A file without an ending is judged by its content."""
    suffix = PurePath(file.name).suffix.lower()
    return not suffix or suffix in formats.get(choice).SUFFIXES


def _ending(file: DataFile, choice: str) -> Problem:
    parameters: dict[str, Value] = {
        "ending": PurePath(file.name).suffix.lower(),
        "format": choice,
        "allowed": ", ".join(formats.get(choice).SUFFIXES),
    }
    return Problem(code="dataset.ending", field=PATH, parameters=parameters)


@lru_cache(maxsize=64)
def _cached(files: tuple[DataFile, ...], facts: Facts, choice: DatasetChoice) -> Scan:
    """`facts` is there to be part of the key: a file that has changed is read again."""
    return scan(files, choice)


def scan(files: tuple[DataFile, ...] | Path, choice: Choice) -> Scan:
    """Read every row. Raises OSError."""
    chosen = _chosen(choice)
    assert chosen is not None
    files = formats.find(files) if isinstance(files, Path) else files
    found = _first_look(files, chosen)
    if found.looks_like is not None:
        return found
    left = MOST
    for row in formats.read(chosen, files):
        if left <= 0:
            found.partly = True
            break
        left -= _size(row)
        _count(row, found)
    return found


def _count(row: Sample | Broken, found: Scan) -> None:
    if isinstance(row, Broken) and row.reason == "file.parquet":
        found.unread += 1
        return
    found.rows += 1
    if isinstance(row, Broken):
        found.broken += 1
        if len(found.first) < SHOWN:
            found.first.append(row)
        if row.ends:
            found.broken_off += 1
            found.first_off = found.first_off or row
    elif _answers_nothing(row):
        found.empty_answers += 1
        found.first_empty = found.first_empty or row.line


def _first_look(files: tuple[DataFile, ...], choice: DatasetChoice) -> Scan:
    """What the first row says: is it of another format, and does it have the columns that were named?"""
    found = Scan(several=len(files) > 1)
    first = next(iter(records(files[0], choice.format)), None)
    if not isinstance(first, Record) or files[0].path.suffix.lower() == ".txt":
        return found
    if isinstance(first.value, dict):
        named = choice.columns.model_dump(exclude_none=True)
        found.absent = tuple((key, name) for key, name in named.items() if name not in first.value)
    if choice.columns == ColumnNames() and not formats.get(choice.format).sniff(first.value):
        found.looks_like = formats.looks_like(first.value)
    return found


def _size(row: Sample | Broken) -> int:
    """About how many characters it took to say this."""
    if isinstance(row, Broken):
        return 100
    return len(row.text or "") + sum(len(message.content) for message in row.messages) + 50


def _answers_nothing(row: Sample) -> bool:
    last = row.messages[-1] if row.messages else None
    return last is not None and not last.content.strip() and not last.tool_calls


def _rows(path: str, choice: DatasetChoice, found: Scan) -> Iterator[Problem]:
    if found.looks_like is not None:
        yield Problem(
            code="dataset.other_format",
            field="train.dataset.format",
            parameters={"format": choice.format, "looks_like": found.looks_like},
            nearest={"train.dataset.format": found.looks_like},
        )
    elif found.rows and found.broken == found.rows and not found.unread and not found.partly:
        yield _broken(path, found, "dataset.none_usable", "error")
    elif found.broken and choice.broken_rows == "refuse":
        problem = _broken(path, found, "dataset.broken_rows", "error")
        yield problem.model_copy(update={"nearest": {"train.dataset.broken_rows": "leave_out"}})
    elif not found.rows and not found.unread:
        yield Problem(code="dataset.no_rows", field=PATH, parameters={"path": path[:200]})
    else:
        if found.broken:
            yield _broken(path, found, "dataset.rows_left_out", "warning")
        if found.first_off is not None:
            yield _broken_off(path, found, found.first_off)
        yield from _remarks(found)


def _remarks(found: Scan) -> Iterator[Problem]:
    if found.empty_answers:
        parameters: dict[str, Value] = {"count": found.empty_answers, "line": found.first_empty, "rows": found.rows}
        yield Problem(code="dataset.empty_answers", field=PATH, severity="warning", parameters=parameters)
    if found.partly:
        yield Problem(code="dataset.partly", field=PATH, severity="note", parameters={"rows": found.rows})
    if found.unread:
        yield Problem(code="dataset.parquet", field=PATH, severity="note", parameters={"count": found.unread})
    for key, name in found.absent:
        field, named = f"{COLUMNS}.{key}", {"name": name}
        yield Problem(code="dataset.column_absent", field=field, severity="warning", parameters={**named})


def _place(row: Broken, several: bool) -> str:
    return f"{row.file}:{row.line}" if several else str(row.line)


def _broken(path: str, found: Scan, code: str, severity: Severity) -> Problem:
    first = found.first[0]
    lines = ", ".join(_place(row, found.several) for row in found.first) + (" …" if found.broken > SHOWN else "")
    return Problem(
        code=code,
        field=PATH,
        severity=severity,
        parameters={
            **first.parameters,
            "path": path[:200],
            "line": _place(first, True) if found.several else first.line,
            "why": first.reason,
            "count": found.broken,
            "rows": found.rows,
            "lines": lines,
        },
    )


def _broken_off(path: str, found: Scan, first: Broken) -> Problem:
    place: dict[str, Value] = {"path": (first.file or path)[:200], "line": first.line, "why": first.reason}
    parameters = {**first.parameters, **place, "count": found.broken_off}
    return Problem(code="dataset.ends_left_out", field=PATH, severity="warning", parameters=parameters)
