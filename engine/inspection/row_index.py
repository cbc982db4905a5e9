"""Places of a file's rows, so that any of them is read without reading all before it. Kept in a cache folder.

A mark every `STEP` rows, or every megabyte where rows are long: 16 bytes each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from engine.formats import Broken, DataFile
from engine.formats.kinds import records
from engine.formats.places import Places
from engine.formats.records import Record
from engine.inspection.parquet_rows import reader
from engine.run_folder import write_atomic

STEP = 64
FAR = 1 << 20
VERSION = 2


@dataclass
class RowIndex:
    """kind: as in `Places`. marks: (rows before it, byte, line of the row that follows); the first is the begin."""

    kind: str = ""
    rows: int = 0
    marks: list[tuple[int, int, int]] = field(default_factory=list)
    last: Broken | None = None
    """The last row, if it cannot be read: in an array it is where the file breaks off."""
    places: Places = field(default_factory=Places)
    """Of the reading that fills it in."""

    def place(self) -> int:
        """Byte up to which the file has been read; only while it is being read."""
        return self.places.now()

    def before(self, row: int) -> int:
        """Place in `marks` of the last one before a row, counted from 1."""
        low, high = 0, len(self.marks)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.marks[middle][0] < row else (low, middle)
        return low


def indexed(file: DataFile, format_name: str, index: RowIndex) -> Iterator[Record | Broken]:
    """Every row of a file; `index` is filled in along the way, and whole at the end. Raises OSError."""
    places = index.places
    due, place = True, 0
    for record in records(file, format_name, reader, places):
        if due and places.kind:
            index.marks.append((index.rows, place, record.line))
        index.rows += 1
        index.kind = places.kind
        index.last = record if isinstance(record, Broken) else None
        yield record
        due = False
        if not index.rows % STEP or _is_far(places, index, place):
            place = places.now()
            due = True


def _is_far(places: Places, index: RowIndex, place: int) -> bool:
    """In an array it takes long to ask, and rows are read a megabyte at a time in any case."""
    return places.kind not in ("", "array") and places.now() - index.marks[-1][1] > FAR


def load(folder: Path | None, file: DataFile, format_name: str) -> RowIndex | None:
    """The index of a file as it is now; None if none is kept."""
    if folder is None:
        return None
    try:
        value = json.loads((folder / _name(file, format_name)).read_text(encoding="utf-8"))
        last = value["last"]
        broken = (
            None if last is None else Broken(last["line"], last["reason"], last["parameters"], file.name, last["ends"])
        )
        return RowIndex(value["kind"], value["rows"], [tuple(mark) for mark in value["marks"]], broken)
    except (OSError, ValueError, LookupError, TypeError):
        return None


def save(folder: Path | None, file: DataFile, format_name: str, index: RowIndex) -> None:
    """Keep an index. A folder that cannot be written to costs time, nothing else."""
    if folder is None:
        return
    last = index.last
    value = {
        "kind": index.kind,
        "rows": index.rows,
        "marks": index.marks,
        "last": last and {"line": last.line, "reason": last.reason, "parameters": last.parameters, "ends": last.ends},
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / _name(file, format_name), json.dumps(value))
    except OSError:
        return


def whole(folder: Path | None, file: DataFile, format_name: str) -> RowIndex:
    """The kept index, else a new one, for which the file is read once."""
    index = load(folder, file, format_name)
    if index is None:
        index = RowIndex()
        for _ in indexed(file, format_name, index):
            pass
        save(folder, file, format_name, index)
    return index


def _name(file: DataFile, format_name: str) -> str:
    """Changes with the file, and with how it is read."""
    stat = file.path.stat()
    facts = (VERSION, str(file.path), stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, format_name == "text")
    return f"rows-{sha256(repr(facts).encode()).hexdigest()[:32]}.json"
