"""The native training loop beside the Trainer of transformers: the same batches, the same arithmetic, in turn.

    python benchmarks/training_loop.py [--model FOLDER] [--workload sft|pretrain] [--rounds 3] [--iterations 12]

Both sides train all parameters in fp32 with the same AdamW, schedule, clipping, batches and threads; the losses are
compared, so that a faster side that computes something else is found out. Each round starts two fresh processes, one
after the other. Measured is the time from the end of one iteration to the end of the next, data and reports included:
by the clock, and in CPU seconds of all threads, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
SIDES = ("native", "trainer")
WARM_UP = 2
"""Iterations at the start of a process that are not counted."""
SAMPLE_MODEL = ROOT / "var" / "models" / "sample"


@dataclass
class Marks:
    """The ends of the iterations of one process."""

    clock: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def add(self) -> None:
        self.clock.append(time.perf_counter())
        self.cpu.append(time.process_time())


def main() -> int:
    options = arguments()
    if options.side:
        child(options)
        return 0
    with tempfile.TemporaryDirectory(prefix="ty-bench-") as folder:
        model = prepared_model(options.model, Path(folder))
        print(f"model {model}, {options.workload}, batch {options.batch} x {options.seq_length} tokens, fp32")
        prepare_data(options, model, Path(folder))
        results: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
        for number in range(options.rounds):
            for side in SIDES if number % 2 == 0 else reversed(SIDES):
                results[side].append(run_child(options, side, model, Path(folder)))
        report(options, results)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="folder, or `tiny` (default: the sample model if it is there)")
    parser.add_argument("--workload", choices=("sft", "pretrain"), default="sft")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq-length", type=int, default=128)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def prepared_model(choice: str | None, folder: Path) -> Path:
    if choice is None and SAMPLE_MODEL.exists():
        return SAMPLE_MODEL
    if choice not in (None, "tiny"):
        return Path(choice).resolve()
    from engine.weights import tiny

    return tiny.make(folder / "tiny", hidden_size=256, layers=4, vocab=2048)


def stage_file(options: argparse.Namespace, name: str, model: Path, run: Path) -> Any:
    from engine.plan import Batch, Layout
    from engine.samples import DOCUMENTS, STATION_MASTER
    from engine.spec import JobSpec
    from engine.stage_file import StageFile

    text = options.workload == "pretrain"
    repeated = run.parent / "documents.txt"
    if text and not repeated.exists():
        repeated.write_text(DOCUMENTS.read_text(encoding="utf-8") * 200, encoding="utf-8")
    dataset = {"path": str(repeated if text else STATION_MASTER), "format": "text" if text else "alpaca"}
    spec = {
        "name": "benchmark",
        "model": "any",
        "model_path": str(model),
        "framework": "native",
        "hardware": "cpu",
        "devices": 1,
        "train": {
            "stage": options.workload,
            "strategy": "full",
            "dataset": dataset,
            "seq_length": options.seq_length,
            "learning_rate": 1e-4,
            "save_interval": 10**6,
        },
    }
    batch = Batch(
        micro_batch_size=options.batch,
        global_batch_size=options.batch,
        gradient_accumulation_steps=1,
        train_iters=options.iterations,
        epochs=None,
    )
    layout = Layout(devices=1, data_parallel_size=1)
    made = StageFile(stage=name, run_dir=str(run), spec=JobSpec.model_validate(spec), layout=layout, batch=batch)
    made.folder.create()
    return made


def prepare_data(options: argparse.Namespace, model: Path, folder: Path) -> None:
    """Tokens, once for both sides, by the stage `preprocess`."""
    from engine.events import Emitter
    from engine.preprocess.__main__ import main as preprocess

    preprocess(stage_file(options, "preprocess", model, folder / "data"), Emitter(None))


def run_child(options: argparse.Namespace, side: str, model: Path, folder: Path) -> dict[str, Any]:
    words = [
        *(sys.executable, __file__, "--side", side, "--folder", str(folder), "--model", str(model)),
        *("--workload", options.workload, "--iterations", str(options.iterations)),
        *("--batch", str(options.batch), "--seq-length", str(options.seq_length)),
    ]
    environment = os.environ | {"OMP_WAIT_POLICY": "PASSIVE", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{side} failed:\n{done.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    seconds = durations(result)
    print(f"  {side:8} median {statistics.median(seconds) * 1000:8.1f} ms an iteration", flush=True)
    return result


def child(options: argparse.Namespace) -> None:
    side = native if options.side == "native" else trainer
    print(json.dumps(side(options)))


def native(options: argparse.Namespace) -> dict[str, Any]:
    """Our stage `train`; an iteration has ended when it has told its metrics."""
    import shutil

    from engine.events import Emitter
    from engine.training.__main__ import train
    from engine.training.stop import StopRequest
    from engine.training.world import joined

    marks = Marks()

    class Clock(Emitter):
        def emit(self, kind: Any, rank: int = 0, **data: Any) -> None:
            if kind == "metric":
                marks.add()
                marks.losses.append(data["lm_loss"])

    with tempfile.TemporaryDirectory(dir=options.folder) as run:
        made = stage_file(options, "train", Path(options.model), Path(run))
        shutil.copytree(options.folder / "data" / "data", made.folder.data, dirs_exist_ok=True)
        with joined(made.layout) as world:
            train(made, Clock(None), world, StopRequest())
    return vars(marks)


def trainer(options: argparse.Namespace) -> dict[str, Any]:
    """transformers.Trainer with our optimizer, our schedule and our order of samples."""
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

    from engine.preprocess.store import opened
    from engine.training.data import Order
    from engine.training.optimizer import adamw
    from engine.training.schedule import Schedule
    from engine.weights.load import load_model

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    rate = 1e-4
    prepared = stage_file(options, "train", Path(options.model), options.folder / "data")
    store = opened(prepared.folder.data, prepared.spec.train)
    order = Order(len(store), 1234)
    chosen = [int(i) for step in range(options.iterations) for i in order.batch(step, options.batch)]
    model = load_model(options.model)
    optimizer = adamw(model.parameters(), rate)
    schedule = Schedule(rate, rate * 0.1, options.iterations)
    factor = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: schedule.rate(step + 1) / rate)
    marks = Marks()

    class Clock(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            marks.add()

    class InOrder(Trainer):
        def _get_train_sampler(self, *_: Any, **__: Any) -> Any:
            return torch.utils.data.SequentialSampler(chosen)

    asked = TrainingArguments(
        output_dir=str(options.folder / "trainer"),
        per_device_train_batch_size=options.batch,
        max_steps=options.iterations,
        max_grad_norm=1.0,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        dataloader_pin_memory=False,
    )
    rows = [(store[index].ids, store[index].labels) for index in chosen]
    made = InOrder(
        model=model,
        args=asked,
        train_dataset=[{"input_ids": ids, "labels": labels} for ids, labels in rows],
        data_collator=padded,
        optimizers=(optimizer, factor),
        callbacks=[Clock()],
    )
    made.train()
    marks.losses = [float(entry["loss"]) for entry in made.state.log_history if "loss" in entry]
    return vars(marks)


def padded(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Pad to the longest row, as the native loop does."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    def column(name: str, value: int) -> torch.Tensor:
        return pad_sequence([torch.from_numpy(row[name]).long() for row in rows], True, value)

    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    ids = column("input_ids", 0)
    mask = (torch.arange(ids.shape[1])[None, :] < lengths[:, None]).long()
    return {"input_ids": ids, "labels": column("labels", -100), "attention_mask": mask}


def durations(result: dict[str, Any], kind: str = "clock") -> list[float]:
    return [after - before for before, after in itertools.pairwise(result[kind])][WARM_UP - 1 :]


def report(options: argparse.Namespace, results: dict[str, list[dict[str, Any]]]) -> None:
    tokens = options.batch * options.seq_length
    for side in SIDES:
        rates = [tokens / seconds for result in results[side] for seconds in durations(result)]
        low, middle, high = statistics.quantiles(rates, n=4)
        cpu = statistics.median(seconds for result in results[side] for seconds in durations(result, "cpu"))
        print(
            f"{side:8} {middle:9.1f} tokens/s   quartiles {low:.1f} to {high:.1f}   "
            f"CPU {cpu * 1000:.0f} ms an iteration   {len(rates)} iterations"
        )
    for kind, words in (("clock", "by the clock"), ("cpu", "by CPU seconds")):
        whole, rounds = ratios(results, kind)
        shown = ", ".join(f"{ratio:.2f}" for ratio in rounds)
        print(f"Trainer takes {whole:.2f} times as long as native {words} (by round: {shown})")
    ours, theirs = results["native"][0]["losses"], results["trainer"][0]["losses"]
    difference = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    print(f"largest difference of the losses over {len(ours)} iterations: {difference:.2e}")


def ratios(results: dict[str, list[dict[str, Any]]], kind: str) -> tuple[float, list[float]]:
    """Trainer's median duration over ours: of all iterations, and of each round's."""
    medians = {side: [statistics.median(durations(result, kind)) for result in results[side]] for side in SIDES}
    whole = {side: statistics.median(itertools.chain(*(durations(r, kind) for r in results[side]))) for side in SIDES}
    rounds = [theirs / ours for ours, theirs in zip(medians["native"], medians["trainer"], strict=True)]
    return whole["trainer"] / whole["native"], rounds


if __name__ == "__main__":
    sys.exit(main())
