"""`python -m engine.frameworks.llama_factory STAGE_JSON`: our own part of each stage."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

from engine.events import Emitter
from engine.failures import Failure
from engine.frameworks.llama_factory import rows
from engine.roots import resolved
from engine.run_folder import RunFolder, complete_checkpoints, write_atomic
from engine.stage_file import StageFile
from engine.stage_process import run_stage

ADAPTER = ("adapter_config.json", "adapter_model.safetensors")
TOLD_EVERY = 10_000
EXAMPLES = re.compile(r"\bNum examples = ([\d,]+)")


def main(stage: StageFile, emitter: Emitter) -> None:
    if stage.stage == "preprocess":
        preprocess(stage, emitter)
    elif stage.stage == "train":
        tidy(stage.folder, recovers=stage.spec.train.resume.auto_recovery)
    else:
        check_rows(stage)
        keep_adapter(stage)


def preprocess(stage: StageFile, emitter: Emitter) -> None:
    """Write the rows, their entry, and what became of them."""
    train, folder, count = stage.spec.train, stage.folder, 0
    path = resolved(train.dataset.path, "train.dataset.path", stage.roots)
    unfinished = folder.data / "train.jsonl.part"
    with unfinished.open("w", encoding="utf-8") as file:
        for line in rows.lines(path, train.dataset.format):
            file.write(line)
            count += 1
            if count % TOLD_EVERY == 0:
                emitter.emit("progress", done=count, total=None, unit="rows", seconds_left=None)
    print(f" rows written: {count}", flush=True)
    if not count:
        report = "rows read: 0"
        raise Failure("preprocess.no_samples", "train.dataset.path", path=train.dataset.path, report=report)
    unfinished.replace(folder.data / "train.jsonl")
    write_atomic(folder.data / "dataset_info.json", rows.info(train.stage))
    write_atomic(folder.data / "report.json", json.dumps({"rows_written": count}, indent=2) + "\n")
    emitter.emit("progress", done=count, total=count, unit="rows", seconds_left=0)


def tidy(folder: RunFolder, *, recovers: bool) -> None:
    """Take away what an interrupted training has left half done, which LLaMA-Factory would go on from or stumble at.

    It takes the checkpoint of the highest number, whole or not; without one, it refuses a folder with weights. And a
    checkpoint that was asked for would be taken again although the run has newer ones of its own: unless that is
    what is wanted (`recovers` false), its key is taken out.
    """
    whole = {path for _, path in complete_checkpoints(folder.checkpoints)}
    for path in folder.checkpoints.glob("checkpoint-*"):
        if path not in whole:
            print(f" removed: {path.name}, which is not whole", flush=True)
            shutil.rmtree(path)
    if not whole:
        for path in (path for path in folder.checkpoints.iterdir() if path.is_file()):
            path.unlink()
    if not (whole and recovers):
        return
    config = folder.path / "config" / "train.yaml"
    lines = config.read_text(encoding="utf-8").splitlines(keepends=True)
    write_atomic(config, "".join(line for line in lines if not line.startswith("resume_from_checkpoint:")))


def check_rows(stage: StageFile) -> None:
    """Raises Failure when the training has read other rows than were written; documents become other samples."""
    folder = stage.folder
    found = EXAMPLES.findall(folder.log("train").read_text(encoding="utf-8", errors="replace"))
    written = json.loads((folder.data / "report.json").read_text(encoding="utf-8"))["rows_written"]
    if stage.spec.train.stage == "sft" and found and (read := int(found[-1].replace(",", ""))) != written:
        raise Failure("llama_factory.rows_lost", "train.dataset.path", "software", written=written, read=read)


def keep_adapter(stage: StageFile) -> None:
    """Beside the merged weights, for whoever wants to serve it alone."""
    if stage.spec.train.strategy != "lora":
        return
    target = stage.folder.output / "adapter"
    target.mkdir(parents=True, exist_ok=True)
    for name in ADAPTER:
        shutil.copyfile(stage.folder.checkpoints / name, Path(target, name))


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
