"""Which format a dataset has: by its first rows, or as the person says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from engine import formats
from engine.dataset_report import FormatChoice
from engine.formats import DataFile
from engine.formats.kinds import records
from engine.formats.records import Record
from engine.inspection.parquet_rows import reader

LOOKED_AT = 50
"""Rows at the begin of a file; the first one that looks like something decides."""


def choose(files: Sequence[DataFile], asked: str | None) -> list[FormatChoice]:
    """For each file. A dataset has one format: what was asked for, else that of the first file that looks like one."""
    found = [sniff(file) for file in files]
    used = asked or next((name for name in found if name is not None), None)
    return [
        FormatChoice(used=used, sniffed=name, asked=asked, why=_why(file, name))
        for file, name in zip(files, found, strict=True)
    ]


def sniff(file: DataFile) -> str | None:
    """What a file looks like; None if like nothing, or if it cannot be read."""
    if _is_lines(file):
        return "text"
    if not file.path.is_file():  # a pipe would wait for ever
        return None
    try:
        for record in islice(records(file, "", reader), LOOKED_AT):
            if isinstance(record, Record) and (name := formats.looks_like(record.value)) is not None:
                return name
    except OSError:  # said when all of it is read
        return None
    return None


def _why(file: DataFile, name: str | None) -> str:
    if name is None:
        return ""
    return "sniff.lines" if _is_lines(file) else f"sniff.{name}"


def _is_lines(file: DataFile) -> bool:
    return file.path.suffix.lower() == ".txt"
