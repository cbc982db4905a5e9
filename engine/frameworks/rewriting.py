"""The dataset for a framework that reads files itself: every row is read by our own reader and written in one form.

Such a framework drops in silence what it does not understand. Rows that have been read and checked here leave nothing
open, and one that cannot be used, or that the framework cannot be told, is a failure with its file and line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from engine import formats
from engine.events import Emitter
from engine.failures import Failure
from engine.formats import Broken, ParquetReader, Sample
from engine.problems import Value
from engine.roots import Roots
from engine.spec import DatasetChoice
from engine.stage_file import StageFile

PATH = "train.dataset.path"
EVERY = 10_000
"""Rows between two events of progress."""


def rewrite(stage: StageFile, emitter: Emitter, target: Path, row: Callable[[Sample], dict[str, Any]]) -> int:
    """Write a line of JSON for each row of the stage's dataset; their number, at least one.

    `target` appears when it is whole. Raises Failure, whose cause may be what `row` cannot tell.
    """
    dataset, count = stage.spec.train.dataset, 0
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    with part.open("w", encoding="utf-8") as file:
        for sample in samples(dataset, stage.roots):
            file.write(json.dumps(row(sample), ensure_ascii=False) + "\n")
            count += 1
            if count % EVERY == 0:
                emitter.emit("progress", done=count, total=None, unit="rows", seconds_left=None)
    if not count:
        raise Failure("preprocess.no_samples", PATH, path=dataset.path, report="rows read: 0")
    part.replace(target)
    print(f" rows read: {count}", flush=True)
    emitter.emit("progress", done=count, total=count, unit="rows", seconds_left=0)
    return count


def samples(dataset: DatasetChoice, roots: Roots) -> Iterator[Sample]:
    """Raises Failure at a broken row: the data is not what was meant."""
    path = dataset.path
    try:
        for item in formats.read(dataset, formats.find(path, roots), _parquet()):
            if isinstance(item, Broken):
                where: dict[str, Value] = {"path": item.file or path, "line": item.line, "why": item.reason}
                raise Failure("preprocess.broken_row", PATH, **(item.parameters | where))
            yield item
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("preprocess.unreadable", PATH, path=path, reason=reason) from error


def _parquet() -> ParquetReader | None:
    """Parquet needs a library that this zone does without; where the engine's packages are not installed there is
    none, and such a file is refused by name."""
    try:
        found: ParquetReader = import_module("engine.preprocess.parquet").rows
    except ImportError:
        return None
    return found
