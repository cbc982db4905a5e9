"""A stand-in for a checkout of MindSpeed-LLM: programs of the same names, which take the release's real options,
read and write what the real ones do, and train nothing.

A file `mode` in the checkout makes one of them misbehave as the real one is known to:

    silent      the training ends at once with exit code 0
    random      the training says that it starts from random weights, and goes on
    cut         the converter ends with exit code 0 and leaves one part out
    dies <n>    the training is killed behind iteration n, the first time only
    scrambled   the way back leaves out a weight
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from engine.frameworks.mindspeed_llm.profiles.options import TRAIN
from engine.frameworks.mindspeed_llm.split import shards
from engine.plan import Layout
from engine.run_folder import write_atomic
from tests.engine.mindspeed.parsers import parser

RELEASE = "26.1.0"
PROGRAMS = {
    "preprocess_data.py": "preprocess",
    "convert_ckpt.py": "convert",
    "pretrain_gpt.py": "train",
    "posttrain_gpt.py": "train",
}
LATEST = "latest_checkpointed_iteration.txt"


def make(folder: Path, mode: str = "") -> Path:
    folder.mkdir(parents=True)
    for name, function in PROGRAMS.items():
        text = f"from tests.engine.mindspeed import standin\nstandin.{function}()\n"
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "mode").write_text(mode, encoding="utf-8")
    return folder


def make_python(path: Path) -> Path:
    """An interpreter whose torchrun starts the ranks at once, without loading torch, which takes seconds."""
    code = "import sys; from tests.engine.mindspeed import standin; sys.exit(standin.launch(sys.argv[1:]))"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def launch(words: list[str]) -> int:
    if words[:2] != ["-m", "torch.distributed.run"]:
        os.execv(sys.executable, [sys.executable, *words])
    options = argparse.ArgumentParser()
    options.add_argument("--standalone", action="store_true", required=True)
    options.add_argument("--nproc_per_node", type=int, required=True)
    place = next(number for number, word in enumerate(words) if word in PROGRAMS)
    world = options.parse_args(words[2:place]).nproc_per_node
    ranks = [
        subprocess.Popen(
            [sys.executable, *words[place:]], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world)}
        )
        for rank in range(world)
    ]
    return max(rank.wait() for rank in ranks)


def mode() -> list[str]:
    return Path("mode").read_text(encoding="utf-8").split()


def preprocess() -> None:
    """A word is a token. As upstream, rows that are not shorter than the length are left out."""
    told = parser("preprocess_data.py", RELEASE).parse_args()
    assert Path(told.output_prefix).parent.is_dir(), f"{told.output_prefix} is not a directory or does not exist"
    rows = [json.loads(line) for line in Path(told.input).read_text(encoding="utf-8").splitlines()]
    if told.handler_name == "SharegptStyleInstructionHandler":
        assert told.prompt_type
        names = [f"packed_{key}" for key in ("input_ids", "attention_mask", "labels")]
        lengths = [sum(len(turn["value"].split()) for turn in row["conversations"]) for row in rows]
        lengths = [length for length in lengths if length < told.seq_length]
    else:  # as upstream: whatever the name is
        names, lengths = ["text"], [len(row["text"].split()) + told.append_eod for row in rows]
    for name in names:
        write_dataset(Path(f"{told.output_prefix}_{name}_document"), lengths)


def write_dataset(prefix: Path, lengths: list[int]) -> None:
    """Of zeros; the index as Megatron's IndexedDatasetBuilder writes it."""
    count = len(lengths)
    starts = [4 * sum(lengths[:number]) for number in range(count)]
    index = struct.pack("<9sQBQQ", b"MMIDIDX\x00\x00", 1, 4, count, count + 1)
    index += struct.pack(f"<{count}i{count}q{count + 1}q", *lengths, *starts, *range(count + 1))
    prefix.with_name(f"{prefix.name}.idx").write_bytes(index)
    prefix.with_name(f"{prefix.name}.bin").write_bytes(bytes(4 * sum(lengths)))


def convert() -> None:
    direction = sys.argv[sys.argv.index("--load-model-type") + 1]
    told = parser(f"convert_ckpt.py:{direction}", RELEASE).parse_args()
    if direction == "hf":
        assert (Path(told.load_dir) / "config.json").is_file()
        layout = layout_of(told.target_tensor_parallel_size, told.target_pipeline_parallel_size)
        save(Path(told.save_dir), 1, layout)
        if "cut" in mode():
            (Path(told.save_dir) / "iter_0000001" / shards(layout)[-1] / "model_optim_rng.pt").unlink()
        return
    assert (Path(told.lora_load or told.load_dir) / LATEST).is_file()
    target = Path(told.save_dir) / "mg2hf"
    target.mkdir()
    shutil.copyfile(Path(told.save_dir) / "config.json", target / "config.json")
    weights = (Path(told.save_dir) / "model.safetensors").read_bytes()
    if "scrambled" in mode():
        weights = weights.replace(b"q_proj", b"x_proj")
    (target / "model.safetensors").write_bytes(weights)


def train() -> None:
    told = parser(TRAIN, RELEASE).parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    for name in ("_packed_input_ids_document.idx", ".idx"):
        if Path(f"{told.data_path[0]}{name}").is_file():
            break
    else:
        raise FileNotFoundError(told.data_path[0])
    if "silent" in mode():
        sys.exit()
    agreed = Path(told.save) / f"start.{os.getppid()}"
    if rank == 0:
        print(f"  seq_length ...................................... {told.seq_length}")
        print(f"  world_size ...................................... {world}", flush=True)
        write_atomic(agreed, str(_start(told)))
    _wait_for(agreed)
    start = int(agreed.read_text(encoding="utf-8"))
    if rank == world - 1:
        _iterate(told, start)


def _iterate(told: argparse.Namespace, start: int) -> None:
    """By the last rank, which is the one that writes the log."""
    layout = layout_of(told.tensor_model_parallel_size, told.pipeline_model_parallel_size)
    for iteration in range(start + 1, told.train_iters + 1):
        print(_line(told, iteration), flush=True)
        if iteration % told.save_interval == 0 or iteration == told.train_iters:
            save(Path(told.save), iteration, layout)
        _die(iteration)


def _wait_for(path: Path) -> None:
    """What all ranks agree on is said by rank 0, which lists its arguments before anybody trains."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} has not come"
        time.sleep(0.01)


def _start(told: argparse.Namespace) -> int:
    """Where it goes on from, by Megatron's rules."""
    tracker = Path(told.load) / LATEST
    if tracker.is_file() and "random" not in mode():
        return 0 if told.finetune else int(tracker.read_text(encoding="utf-8"))
    if told.pretrained_checkpoint is not None and "random" not in mode():
        assert (Path(told.pretrained_checkpoint) / LATEST).is_file(), "No checkpoint found"
        return 0
    print(f"WARNING: could not find the metadata file {tracker}")
    print("    will not load any checkpoints and will start from random", flush=True)
    return 0


def _line(told: argparse.Namespace, iteration: int) -> str:
    return (
        f" [2026-03-02 10:15:07] iteration {iteration:8d}/{told.train_iters:8d} | consumed samples: "
        f"{iteration * told.global_batch_size:12d} | elapsed time per iteration (ms): 500.0 | learning rate: "
        f"{told.lr:.6E} | global batch size: {told.global_batch_size:5d} | lm loss: {10 / iteration:.6E} | "
        "loss scale: 1.0 | grad norm: 1.500 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def _die(iteration: int) -> None:
    """Together with its launcher and its wrapper, as when the machine goes down."""
    words = mode()
    if words[:1] == ["dies"] and iteration == int(words[1]):
        Path("mode").write_text("", encoding="utf-8")
        os.killpg(os.getsid(0), signal.SIGKILL)


def layout_of(tensor: int, pipeline: int) -> Layout:
    return Layout(
        devices=tensor * pipeline, tensor_parallel_size=tensor, pipeline_parallel_size=pipeline, data_parallel_size=1
    )


def save(folder: Path, iteration: int, layout: Layout) -> None:
    for shard in shards(layout):
        file = folder / f"iter_{iteration:07d}" / shard / "model_optim_rng.pt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"weights")
    (folder / LATEST).write_text(str(iteration), encoding="utf-8")
