"""Before preprocessing: every row of the dataset is read and written again as the one form that needs no options.

Upstream drops rows whose turns are out of order, takes a path that does not exist for a name on the hub, takes an
unknown handler for pre-training, and reads MOSS with the token numbers of one model. Rows that have been read and
checked here leave none of that open: conversations become ShareGPT's, texts one object with `text` each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from engine import formats
from engine.events import Emitter
from engine.failures import Failure
from engine.formats import Broken, Message, Sample
from engine.formats.kinds import ParquetReader
from engine.problems import Value
from engine.roots import Roots
from engine.spec import DatasetChoice
from engine.stage_file import StageFile
from engine.stage_process import run_stage

PATH = "train.dataset.path"
NAME = "rows.jsonl"
SPEAKERS = {"system": "system", "user": "human", "assistant": "gpt"}
EVERY = 10_000


def main(stage: StageFile, emitter: Emitter) -> None:
    stage.folder.data.mkdir(parents=True, exist_ok=True)
    dataset = stage.spec.train.dataset
    target = stage.folder.data / NAME
    part = target.with_name(f"{NAME}.part")
    count = 0
    with part.open("w", encoding="utf-8") as file:
        for sample in _samples(dataset, stage.roots):
            file.write(json.dumps(_row(sample, dataset.path), ensure_ascii=False) + "\n")
            count += 1
            if count % EVERY == 0:
                emitter.emit("progress", done=count, total=None, unit="rows", seconds_left=None)
    if not count:
        raise Failure("preprocess.no_samples", PATH, path=dataset.path, report="rows read: 0")
    part.replace(target)
    print(f" rows read: {count}", flush=True)


def _samples(dataset: DatasetChoice, roots: Roots) -> Iterator[Sample]:
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


def _row(sample: Sample, path: str) -> dict[str, Any]:
    if sample.text is not None:
        return {"text": sample.text}
    if sample.tools or any(map(_needs_a_template, sample.messages)):
        raise Failure("mindspeed_llm.tools", PATH, path=sample.file or path, line=sample.line)
    turns = [{"from": SPEAKERS[message.role], "value": message.content} for message in sample.messages]
    return {"conversations": turns}


def _needs_a_template(message: Message) -> bool:
    return message.role not in SPEAKERS or bool(message.tool_calls) or bool(message.reasoning)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
