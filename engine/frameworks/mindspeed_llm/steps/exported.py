"""After converting back: the model becomes output/model, with the tokenizer's files, and is held against the original.

Upstream leaves out files that inference needs, and one can tell a wrong conversion by its weights alone: each must be
there under its name and in its shape.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from engine.events import Emitter
from engine.failures import Failure
from engine.model_folder import guarded, read_json_object, weight_files
from engine.run_folder import write_atomic
from engine.safetensors_header import Shapes, Unreadable, shapes
from engine.stage_file import StageFile
from engine.stage_process import run_stage

FOLDERS = ("original/mg2hf", "converted")
"""Where the two converters write, below output/."""
BESIDE = (".json", ".model", ".tiktoken", ".txt", ".py", ".jinja")
"""Endings of the files that belong to a model beside its weights."""
TIED, UNUSED = "lm_head.weight", ("rotary_emb.inv_freq",)
MANY = 10_000


def main(stage: StageFile, _emitter: Emitter) -> None:
    source, output = guarded(stage.spec.model_path, stage.roots), stage.folder.output
    target = output / "model"
    made = next((output / name for name in FOLDERS if (output / name / "config.json").is_file()), None)
    if made is not None:
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)
        shutil.rmtree(output / "original", ignore_errors=True)
    if not target.is_dir():
        raise Failure("mindspeed_llm.no_model", "", "software", folders=", ".join(FOLDERS))
    copied = _complete(source, target)
    compared = _compare(source, target)
    report = {"files_copied": copied, "weights_compared": compared}
    write_atomic(output / "report.json", json.dumps(report, indent=2) + "\n")
    print(f" {target}: {compared} weights as in the original, files copied: {', '.join(copied) or '-'}", flush=True)


def _complete(source: Path, target: Path) -> list[str]:
    """Names of the files that were missing. The index of weights is the new model's own."""
    copied = []
    for file in sorted(source.iterdir()):
        wanted = file.is_file() and file.suffix in BESIDE and not file.name.endswith(".index.json")
        if wanted and not (target / file.name).exists():
            shutil.copyfile(file, target / file.name)
            copied.append(file.name)
    return copied


def _compare(source: Path, target: Path) -> int:
    """How many weights agree in name and shape; 0 where the original is in a format without a header to read."""
    made, original = _shapes(target), _shapes(source)
    if not made:
        raise Failure("mindspeed_llm.no_model", "", "software", folders=str(target))
    if not original:
        return 0
    layers = _layers(source)
    wrong = [
        name
        for name, shape in original.items()
        if made.get(name) != shape and not _may_lack(name, made) and _layer(name) < layers
    ]
    if wrong:
        raise Failure("mindspeed_llm.other_weights", "", "software", count=len(wrong), name=wrong[0])
    return len(original.keys() & made.keys())


def _shapes(folder: Path) -> Shapes:
    found: Shapes = {}
    try:
        for file in weight_files(folder):
            found |= shapes(file)
    except (OSError, Unreadable) as error:
        raise Failure("weights.unreadable", "", "software", path=str(folder), reason=str(error)) from error
    return found


def _may_lack(name: str, made: Shapes) -> bool:
    """A copy of the embedding, and numbers that follow from the config."""
    return name not in made and (name == TIED or name.endswith(UNUSED))


def _layer(name: str) -> int:
    """Number of the layer in a name such as model.layers.3.mlp; -1 outside of layers."""
    parts = name.split(".")
    return next((int(part) for part in parts if part.isdecimal()), -1)


def _layers(source: Path) -> int:
    """Layers behind these predict several tokens at once: they are not trained here, and not converted."""
    config = read_json_object(source / "config.json") or {}
    return int(config.get("num_hidden_layers") or config.get("num_layers") or MANY)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
