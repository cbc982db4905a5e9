"""`python -m engine.preprocess STAGE_JSON`: the stage `preprocess`."""

from __future__ import annotations

import json
import sys

from engine.dataset_files import PREFIX
from engine.events import Emitter
from engine.preprocess.light_libraries import without_torch
from engine.run_folder import write_atomic
from engine.stage_file import StageFile
from engine.stage_process import run_stage


def main(stage: StageFile, emitter: Emitter) -> None:
    from engine.preprocess.preparing import Request, cache_root, prepare, samples  # behind without_torch

    train = stage.spec.train
    emitter.emit("progress", done=0, total=None, unit="rows", seconds_left=None)
    request = Request(
        dataset=train.dataset,
        tokenizer=stage.spec.model_path,
        stage=train.stage,
        seq_length=train.seq_length,
        packing=bool(train.packing),
        prefix=stage.folder.data / PREFIX,
        cache=cache_root(stage.folder.path),
        roots=stage.roots,
    )
    report = prepare(request, emitter)
    count = samples(request, report)
    print(f" {report.told()}; samples: {count}", flush=True)
    for problem in report.problems(train.seq_length, train.dataset.path):
        emitter.emit("problem", problem=problem.model_dump(mode="json"))
    text = json.dumps(report.to_json(count, train.seq_length), indent=2)
    write_atomic(stage.folder.data / "report.json", text + "\n")
    emitter.emit("progress", done=report.read, total=report.read, unit="rows", seconds_left=0)


if __name__ == "__main__":
    without_torch()
    sys.exit(run_stage(main, sys.argv[1:]))
