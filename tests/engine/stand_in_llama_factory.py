"""Stands in for an interpreter in which LLaMA-Factory is installed: `make` writes one that is a real program.

It takes the same commands, refuses the keys that the real one refuses, reads the files that the settings name by the
real one's rules, prints its lines, and writes its outputs. It trains nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

KEYS = Path(__file__).parent / "published" / "llama_factory_keys.json"
PROGRAM = '''\
import json, os, sys, time
from pathlib import Path
import yaml

KEYS = json.loads(Path(@KEYS@).read_text())
ROLES = ("human", "observation"), ("gpt", "function_call")


def main(words):
    if words[0] == "-c":
        sys.stdout.write("0.9.5")
        return
    assert words[0] == "-m", words
    if words[1] == "torch.distributed.run":
        options = dict(zip(words[2:12:2], words[3:12:2]))
        assert sorted(options) == [
            "--master_addr", "--master_port", "--nnodes", "--node_rank", "--nproc_per_node"
        ] and int(options["--master_port"]) > 0, words
        words = ["-m", *words[13:]] if words[12] == "-m" else words
        assert words[1] == "llamafactory.launcher", words
        train(settings("train", words[2]))
    elif words[2] == "train":
        train(settings("train", words[3]))
    else:
        export(settings("export", words[3]))


def settings(verb, path):
    values = yaml.safe_load(Path(path).read_text())
    unknown = sorted(set(values) - set(KEYS[verb]))
    if unknown:
        raise ValueError(f"Some keys are not used by the HfArgumentParser: {unknown}")
    return values


def rows(values):
    """By the rules of data/converter.py; a row that the real one would drop is an error here."""
    folder = Path(values["dataset_dir"])
    entry = json.loads((folder / "dataset_info.json").read_text())[values["dataset"]]
    found = [json.loads(line) for line in (folder / entry["file_name"]).read_text().splitlines()]
    for row in found:
        if entry["formatting"] == "alpaca":
            assert values["stage"] == "pt" and isinstance(row[entry["columns"]["prompt"]], str)
            continue
        turns = row[entry["columns"]["messages"]]
        assert turns and len(turns) % 2 == 0
        for place, turn in enumerate(turns):
            assert turn[entry["tags"]["role_tag"]] in ROLES[place % 2] and isinstance(turn["value"], str)
    return found


def train(values):
    assert values["output_dir"] and isinstance(values["learning_rate"], float)
    assert isinstance(values["lr_scheduler_kwargs"]["min_lr_rate"], float)
    if "deepspeed" in values:
        assert json.loads(Path(values["deepspeed"]).read_text())["zero_optimization"]["stage"] in (1, 2, 3)
    output, count, total = Path(values["output_dir"]), len(rows(values)), values["max_steps"]
    done = [int(path.name[11:]) for path in output.glob("checkpoint-*")]
    start = max(done, default=0)
    assert start or not (output / "config.json").exists(), "Output directory already exists and is not empty."
    print("[INFO|trainer.py:1469] 2026-12-01 10:00:00,000 >> ***** Running training *****", file=sys.stderr)
    print(f"[INFO|trainer.py:1470] 2026-12-01 10:00:00,000 >>   Num examples = {count:,}", file=sys.stderr)
    print(f"[INFO|trainer.py:1478] 2026-12-01 10:00:00,000 >>   Total optimization steps = {total:,}", file=sys.stderr)
    if start:
        print(f"[INFO|trainer.py:1482] >>   Resuming training from checkpoint with epoch 0 and global step {start}",
              file=sys.stderr)
    for step in range(start + 1, total + 1):
        if os.environ.get("STAND_IN_WAITS_AT") == str(step):
            while not Path("go").exists():
                time.sleep(0.01)
        bar = f"{step}/{total} [00:00<00:00,  1.00it/s]"
        epoch = f"{step / total:.4g}"
        row = {"loss": f"{8 / step:.4g}", "grad_norm": "0.6314", "learning_rate": "0.001", "epoch": epoch}
        sys.stderr.write(f"\\r{bar}\\r{' ' * len(bar)}\\r")
        print(str(row))
        sys.stderr.write(f"\\r{bar}")
        if step % values["save_steps"] == 0:
            write(output / f"checkpoint-{step}" / "trainer_state.json")
    if os.environ.get("STAND_IN_WRITES_NOTHING"):
        return
    name = "adapter_" if values["finetuning_type"] == "lora" else ""
    write(output / f"{name}config.json")
    write(output / ("adapter_model.safetensors" if name else "model.safetensors"))
    write(output / "train_results.json")


def export(values):
    source = Path(values.get("adapter_name_or_path", values["model_name_or_path"]))
    assert (source / "train_results.json").exists(), source
    for name in ("config.json", "model.safetensors", "tokenizer_config.json"):
        write(Path(values["export_dir"]) / name)


def write(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")


main(sys.argv[1:])
'''


def make(folder: Path) -> Path:
    """An executable file that behaves as such an interpreter; the settings name it as they would the real one."""
    program = folder / "program.py"
    program.write_text(PROGRAM.replace("@KEYS@", json.dumps(str(KEYS))), encoding="utf-8")
    interpreter = folder / "python"
    interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n', encoding="utf-8")
    interpreter.chmod(0o755)
    return interpreter
