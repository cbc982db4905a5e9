"""The dataset for a framework that reads files itself: every row is read by our own reader and written in one form.

Such a framework drops in silence what it does not understand. Rows that have been read and checked here leave nothing
open. One that cannot be read is refused or left out, as for our own engine; one that the framework cannot be told is a
failure with its file and line.
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
from engine.formats import ParquetReader, Sample, broken_rows
from engine.formats.files import regular
from engine.preparation import Dropped
from engine.roots import Roots
from engine.spec import DatasetChoice
from engine.stage_file import StageFile

PATH = "train.dataset.path"
EVERY = 10_000
"""Rows between two events of progress."""


def rewrite(
    stage: StageFile, emitter: Emitter, target: Path, row: Callable[[Sample], dict[str, Any]]
) -> dict[str, Any]:
    """Write a line of JSON for each usable row of the stage's dataset, at least one.

    What became of every row: the first fields of an `engine.preparation.Preparation`. `target` appears when it is
    whole. Raises Failure, whose cause may be what `row` cannot tell.
    """
    dataset, count, dropped = stage.spec.train.dataset, 0, Dropped()
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    with part.open("w", encoding="utf-8") as file:
        for sample in samples(dataset, stage.roots, dropped):
            file.write(json.dumps(row(sample), ensure_ascii=False) + "\n")
            count += 1
            if count % EVERY == 0:
                emitter.emit("progress", done=count, total=None, unit="rows", seconds_left=None)
    read = count + dropped.rows
    report = f"rows read: {read}, written: {count}, {dropped.sentence()}"
    print(f" {report}", flush=True)
    if not count:
        raise Failure("preprocess.no_samples", PATH, path=dataset.path, report=report)
    part.replace(target)
    for problem in dropped.problems(read, dataset.path):
        emitter.emit("problem", problem=problem.model_dump(mode="json"))
    emitter.emit("progress", done=read, total=read, unit="rows", seconds_left=0)
    return {"rows_read": read, "rows_kept": count, "broken_rows": dataset.broken_rows, **dropped.to_json()}


def samples(dataset: DatasetChoice, roots: Roots, dropped: Dropped) -> Iterator[Sample]:
    """The usable rows; `dropped` counts those that are left out. Raises Failure as `broken_rows.rows` does."""
    files = regular(formats.find(dataset.path, roots))
    yield from broken_rows.usable(dataset, files, dropped.add_broken, _parquet())


def _parquet() -> ParquetReader | None:
    """Parquet needs a library that this zone does without; where the engine's packages are not installed there is
    none, and such a file is refused by name."""
    try:
        found: ParquetReader = import_module("engine.preprocess.parquet").rows
    except ImportError:
        return None
    return found
