"""Which format a dataset has: by its first rows, or as the person says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine import formats
from engine.dataset_report import FormatChoice
from engine.formats import DataFile, Sniffed
from engine.inspection.dropping import parameters
from engine.inspection.parquet_rows import reader
from engine.inspection.request import Request, named
from engine.spec import ColumnNames, TagNames


@dataclass(frozen=True)
class Chosen:
    """How every file of a dataset is read. format: None if it looks like none and none was asked for."""

    format: str | None
    columns: ColumnNames
    tags: TagNames
    files: tuple[FormatChoice, ...]


def choose(files: Sequence[DataFile], request: Request) -> Chosen:
    """A dataset has one format: what was asked for, else that of the first file that looks like one, with the
    names of columns that were seen there."""
    found = [_sniffed(file) for file in files]
    first = next((one for one in found if one is not None and one.format is not None), None)
    columns, tags = request.columns, request.tags
    if request.format is None and first is not None:
        columns = _filled(first.columns, columns)
        tags = _filled(first.tags, tags)
    used = request.format or (first.format if first is not None else None)
    return Chosen(used, columns, tags, tuple(_choice(one, used, request, columns, tags) for one in found))


Names = TypeVar("Names", ColumnNames, TagNames)


def _filled(seen: Names, asked: Names) -> Names:
    return seen.model_copy(update={key: value for key, value in asked.model_dump().items() if value is not None})


def _sniffed(file: DataFile) -> Sniffed | None:
    try:
        if file.path.is_file():  # a pipe would wait for ever
            return formats.sniff([file], reader)
    except OSError:  # said when all of it is read
        pass
    return None


def _choice(
    found: Sniffed | None, used: str | None, request: Request, columns: ColumnNames, tags: TagNames
) -> FormatChoice:
    return FormatChoice(
        used=used,
        sniffed=found and found.format,
        asked=request.format,
        why="" if found is None else found.why.code,
        parameters={} if found is None else parameters(found.why.parameters),
        columns=named(columns),
        tags=named(tags),
    )
