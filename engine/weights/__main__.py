"""`python -m engine.weights STAGE_JSON`: the stage `export`."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.events import Emitter
from engine.stage_file import StageFile
from engine.stage_process import run_stage
from engine.weights.export import export, newest_checkpoint
from engine.weights.load import load_model


def main(stage: StageFile, emitter: Emitter) -> None:
    emitter.emit("progress", done=0, total=1, unit="models", seconds_left=None)
    source = newest_checkpoint(stage.folder.checkpoints)
    print(f" exporting {source.name} with the base {stage.spec.model_path}", flush=True)
    base = Path(stage.spec.model_path)
    export(load_model(base, stage.roots), source, base, stage.spec.train, stage.folder.output)
    print(f" wrote {stage.folder.output / 'model'}", flush=True)
    emitter.emit("progress", done=1, total=1, unit="models", seconds_left=0)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
