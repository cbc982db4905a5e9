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
from engine.frameworks.rewriting import rewrite
from engine.run_folder import RunFolder, complete_checkpoints, write_atomic
from engine.stage_file import StageFile
from engine.stage_process import run_stage

ADAPTER = ("adapter_config.json", "adapter_model.safetensors")
EXAMPLES = re.compile(r"\bNum examples = ([\d,]+)")
DROPPED = re.compile(r"\bDropped (?:invalid|lengthy) example\b")


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
    train, folder = stage.spec.train, stage.folder
    path = train.dataset.path
    told = rewrite(stage, emitter, folder.data / "train.jsonl", lambda sample: rows.row(sample, path))
    write_atomic(folder.data / "dataset_info.json", rows.info(train.stage))
    write_atomic(folder.data / "report.json", json.dumps({"rows_written": told["rows_kept"], **told}, indent=2) + "\n")


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
    """Raises Failure when the training has read other rows than were written.

    Documents become other samples, and so do rows that are packed: of these its log says which it has left out.
    """
    if stage.spec.train.stage != "sft":
        return
    folder = stage.folder
    log = folder.log("train").read_text(encoding="utf-8", errors="replace")
    written = json.loads((folder.data / "report.json").read_text(encoding="utf-8"))["rows_written"]
    found = EXAMPLES.findall(log)
    if stage.spec.train.packing:
        read = written - len(DROPPED.findall(log))
    else:
        read = int(found[-1].replace(",", "")) if found else written
    if read != written:
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
