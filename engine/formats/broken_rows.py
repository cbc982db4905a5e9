"""Rows that cannot be read: the one place that does with them what `train.dataset.broken_rows` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from engine import formats
from engine.failures import Failure
from engine.formats.files import PATH, DataFile
from engine.formats.kinds import ParquetReader
from engine.formats.sample import Broken, Sample
from engine.problems import Value
from engine.spec import DatasetChoice

NOT_THE_DATAS_FAULT = "file.parquet"
"""A library is missing here: such a file is never left out."""


def rows(
    choice: DatasetChoice, files: Sequence[DataFile], parquet: ParquetReader | None = None
) -> Iterator[Sample | Broken]:
    """Every row in order; a Broken only where it is to be left out, and counted.

    Raises Failure `preprocess.broken_row` where it is not, and `preprocess.unreadable`.
    """
    try:
        for item in formats.read(choice, tuple(files), parquet):
            if isinstance(item, Broken) and (choice.broken_rows == "refuse" or item.reason == NOT_THE_DATAS_FAULT):
                raise refusal(item, choice.path)
            yield item
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("preprocess.unreadable", PATH, path=choice.path, reason=reason) from error


def usable(
    choice: DatasetChoice,
    files: Sequence[DataFile],
    left_out: Callable[[Broken], None],
    parquet: ParquetReader | None = None,
) -> Iterator[Sample]:
    """The rows that can be used; `left_out` is told of the others. Raises Failure as `rows` does."""
    for item in rows(choice, files, parquet):
        if isinstance(item, Broken):
            left_out(item)
        else:
            yield item


def refusal(row: Broken, path: str) -> Failure:
    """path: what to say where the row names no file."""
    where: dict[str, Value] = {"path": row.file or path, "line": row.line, "why": row.reason}
    return Failure("preprocess.broken_row", PATH, **(row.parameters | where))
