"""Before preprocessing: every row of the dataset is read and written again as the one form that needs no options.

Upstream drops rows whose turns are out of order, takes a path that does not exist for a name on the hub, takes an
unknown handler for pre-training, and reads MOSS with the token numbers of one model. Rows that have been read and
checked here leave none of that open: conversations become ShareGPT's, texts one object with `text` each.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from engine import formats
from engine.events import Emitter
from engine.failures import Failure
from engine.formats import Message, ParquetReader, Sample, broken_rows
from engine.formats.files import regular
from engine.preparation import Dropped
from engine.run_folder import write_atomic
from engine.stage_file import StageFile
from engine.stage_process import run_stage

PATH = "train.dataset.path"
NAME = "rows.jsonl"
REPORT = "rows.json"
"""What became of each row on the way into NAME: the first fields of an `engine.preparation.Preparation`."""
SPEAKERS = {"system": "system", "user": "human", "assistant": "gpt"}
EVERY = 10_000


def main(stage: StageFile, emitter: Emitter) -> None:
    stage.folder.data.mkdir(parents=True, exist_ok=True)
    dataset = stage.spec.train.dataset
    target = stage.folder.data / NAME
    part = target.with_name(f"{NAME}.part")
    count, dropped = 0, Dropped()
    files = regular(formats.find(dataset.path, stage.roots))
    with part.open("w", encoding="utf-8") as file:
        for sample in broken_rows.usable(dataset, files, dropped.add_broken, _parquet()):
            file.write(json.dumps(_row(sample, dataset.path), ensure_ascii=False) + "\n")
            count += 1
            if count % EVERY == 0:
                emitter.emit("progress", done=count, total=None, unit="rows", seconds_left=None)
    read = count + dropped.rows
    report = f"rows read: {read}, written: {count}, {dropped.sentence()}"
    print(f" {report}", flush=True)
    if not count:
        raise Failure("preprocess.no_samples", PATH, path=dataset.path, report=report)
    counts = {"rows_read": read, "rows_kept": count, "broken_rows": dataset.broken_rows, **dropped.to_json()}
    write_atomic(target.with_name(REPORT), json.dumps(counts, indent=2) + "\n")
    part.replace(target)
    for problem in dropped.problems(read, dataset.path):
        emitter.emit("problem", problem=problem.model_dump(mode="json"))


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
