"""After preprocessing: how many rows are left, since upstream drops those that are too long and goes on.

Writes data/report.json, which the training's start reads the number of samples from.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from engine.events import Emitter
from engine.failures import Failure
from engine.frameworks.mindspeed_llm.idx import Unreadable, counts
from engine.frameworks.mindspeed_llm.steps.rows import REPORT
from engine.problems import Problem
from engine.run_folder import write_atomic
from engine.stage_file import StageFile
from engine.stage_process import run_stage

PATH = "train.dataset.path"
TOO_LONG = "row.too_long_for_mindspeed"
"""It names none of them."""
PRETRAIN, SFT = "train_text_document.idx", "train_packed_input_ids_document.idx"


def main(stage: StageFile, emitter: Emitter) -> None:
    train, folder = stage.spec.train, stage.folder.data
    read = _lines(folder / "rows.jsonl")
    try:
        found = counts(folder / (PRETRAIN if train.stage == "pretrain" else SFT))
    except (OSError, Unreadable) as error:
        raise Failure("mindspeed_llm.no_index", "", "software", reason=str(error)) from error
    dropped = read - found.sequences
    samples = found.sequences
    if train.stage == "pretrain":
        samples = max(0, (found.tokens - 1) // train.seq_length)
    sentence = f"rows read: {read}, kept: {found.sequences}, tokens: {found.tokens}, samples: {samples}"
    print(f" {sentence}", flush=True)
    if not samples:
        raise Failure("preprocess.no_samples", PATH, path=train.dataset.path, report=sentence)
    if dropped > 0:
        emitter.emit("problem", problem=_dropped(read, dropped, train.seq_length).model_dump(mode="json"))
    told = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    if dropped > 0:
        told["rows_dropped"].append({"reason": TOO_LONG, "rows": dropped, "examples": []})
    report = told | {
        "rows_kept": found.sequences,
        "samples": samples,
        "seq_length": train.seq_length,
        "tokens": found.tokens,
        "longest_sample": found.longest,
    }
    write_atomic(folder / "report.json", json.dumps(report, indent=2) + "\n")


def _dropped(read: int, dropped: int, seq_length: int) -> Problem:
    return Problem(
        code="mindspeed_llm.rows_dropped",
        field="train.seq_length",
        severity="warning",
        parameters={"read": read, "dropped": dropped, "seq_length": seq_length},
    )


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
