"""Our preprocessing beside LLaMA-Factory's and beside the bare tokenizer: the same rows, the same tokenizer, in turn.

    python benchmarks/preprocess.py --tokenizer FOLDER [--template NAME] [--data FILE] [--rounds 3] [--workers 2]

ours    `engine.preprocess`, from the raw file to the finished set, its cache empty
peer    LLaMA-Factory 0.9.5, from the raw file to its saved set (`tokenized_path`), in an environment of its own
bare    `encode_batch_fast` of tokenizers in chunks of 1000 on the texts that ours renders, ids to numpy, nothing else

Each is a fresh process. Measured by the clock and in CPU seconds of the process and its workers, which other programs
on the machine disturb less. For ours it is also told what is left when starting up (imports, loading the tokenizer)
is not counted, since that is what `bare` does not count either. Tokens are compared, so that a faster side that
computes something else is found out: ours and bare have to agree to the token, the peer differs by its own template.

LLaMA-Factory is installed here, not by the project: into --peer-venv, if that has none yet. --no-peer leaves it out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PEER = "llamafactory==0.9.5"
SAMPLE_MODEL = ROOT / "var" / "models" / "sample"
CHUNK = 1000
PEER_DRIVER = """
import sys
from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
from llamafactory.hparams import get_train_args
from llamafactory.model import load_tokenizer

model, folder, target, workers, length, template = sys.argv[1:]
asked = dict(
    stage="sft", do_train=True, model_name_or_path=model, dataset="rows", dataset_dir=folder, template=template,
    cutoff_len=int(length), preprocessing_num_workers=int(workers), overwrite_cache=True, tokenized_path=target,
    output_dir=target + ".out", finetuning_type="lora", report_to="none",
)
model_args, data_args, training_args, _, _ = get_train_args(asked)
module = load_tokenizer(model_args)
template = get_template_and_fix_tokenizer(module["tokenizer"], data_args)
made = get_dataset(template, model_args, data_args, training_args, stage="sft", **module)
print("tokens", sum(map(len, made["train_dataset"]["input_ids"])))
"""


def main() -> int:
    options = arguments()
    if options.side:
        print(json.dumps(ours(options) if options.side == "ours" else bare(options)))
        return 0
    with tempfile.TemporaryDirectory(prefix="ty-bench-", dir=options.scratch) as name:
        options.folder = Path(name)
        write_rows(options)
        write_texts(options)
        sides = ["ours", "bare"] if options.no_peer else ["ours", "peer", "bare"]
        results: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
        for number in range(options.rounds):
            for side in sides if number % 2 == 0 else reversed(sides):
                result = peer(options) if side == "peer" else child(options, side)
                results[side].append(result)
                print(f"  {side:5} {result['clock']:7.1f} s, {result['cpu']:6.1f} CPU s", flush=True)
        report(results)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, default=SAMPLE_MODEL, help="folder (default: the sample model)")
    parser.add_argument("--template", default="chatml", help="LLaMA-Factory's name for it (default: chatml)")
    parser.add_argument("--data", type=Path, help="alpaca rows as JSON (default: made of our own samples)")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seq-length", type=int, default=2048)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-venv", type=Path, default=ROOT / "var" / "bench" / "llamafactory")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--scratch", type=Path, help="where temporary files go")
    parser.add_argument("--side", choices=("ours", "bare"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def write_rows(options: argparse.Namespace) -> None:
    """No row like another: instructions as they are, answers of shuffled sentences."""
    from engine.samples import STATION_MASTER

    source = options.data or STATION_MASTER
    rows = json.loads(source.read_text(encoding="utf-8"))
    sentences = [one for row in rows for one in re.split(r"(?<=[.!?。！？])\s*", row["output"]) if one]
    rng = random.Random(5)
    made = []
    for _ in range(options.rows):
        row = rng.choice(rows)
        count = len(re.split(r"(?<=[.!?。！？])\s*", row["output"])) if options.data else rng.randrange(2, 25)
        made.append({**row, "output": " ".join(rng.choices(sentences, k=count))})
    path = options.folder / "rows.json"
    path.write_text(json.dumps(made, ensure_ascii=False, indent=1), encoding="utf-8")
    (options.folder / "dataset_info.json").write_text('{"rows": {"file_name": "rows.json"}}')
    print(f"{len(made)} rows, {path.stat().st_size / 1e6:.1f} MB, {options.workers} workers, {options.tokenizer}")


def write_texts(options: argparse.Namespace) -> None:
    """The conversations as our chat template renders them."""
    from engine import formats
    from engine.formats import Sample
    from engine.preprocess.chat import Chat
    from engine.spec import DatasetChoice
    from engine.weights.load import load_tokenizer

    path = options.folder / "rows.json"
    chat = Chat(load_tokenizer(options.tokenizer))
    rows = formats.read(DatasetChoice(path=str(path), format="alpaca"), formats.find(path))
    texts = [chat.render(row).text for row in rows if isinstance(row, Sample)]
    (options.folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")


def child(options: argparse.Namespace, side: str) -> dict[str, float]:
    words = [
        *(sys.executable, __file__, "--side", side, "--folder", str(options.folder)),
        *("--tokenizer", str(options.tokenizer), "--workers", str(options.workers)),
        *("--seq-length", str(options.seq_length)),
    ]
    threads = {"RAYON_NUM_THREADS": str(options.workers)} if side == "bare" else {}
    output, clock, cpu = timed(words, threads)
    result: dict[str, float] = {"clock": clock, "cpu": cpu, **json.loads(output.splitlines()[-1])}
    return result


def timed(words: list[str], environment: dict[str, str]) -> tuple[str, float, float]:
    """Standard output, seconds by the clock and CPU seconds of a process with all its own."""
    before, started = cpu_of(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, env=os.environ | environment, capture_output=True, text=True, check=False)
    clock = time.perf_counter() - started
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)[:300]} failed:\n{done.stderr[-3000:]}")
    return done.stdout, clock, cpu_of(resource.RUSAGE_CHILDREN) - before


def cpu_of(whose: int) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def all_cpu() -> float:
    return cpu_of(resource.RUSAGE_SELF) + cpu_of(resource.RUSAGE_CHILDREN)


def ours(options: argparse.Namespace) -> dict[str, float]:
    """One whole job; `work_…` is from the first row to the last."""
    from engine.preprocess.light_libraries import without_torch

    without_torch()
    from engine.events import Emitter
    from engine.preprocess.building import Building
    from engine.preprocess.preparing import Request, prepare
    from engine.spec import DatasetChoice

    work: dict[str, float] = {}
    run = Building.run

    def measured(self: Building, *words: Any) -> Any:
        clock, cpu = time.perf_counter(), all_cpu()
        report = run(self, *words)
        work.update(work_clock=time.perf_counter() - clock, work_cpu=all_cpu() - cpu)
        return report

    Building.run = measured  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        request = Request(
            dataset=DatasetChoice(path=str(options.folder / "rows.json"), format="alpaca"),
            tokenizer=str(options.tokenizer),
            stage="sft",
            seq_length=options.seq_length,
            packing=False,
            prefix=Path(name, "out", "rows"),
            cache=Path(name, "cache"),
            workers=options.workers,
        )
        report = prepare(request, Emitter(None))
    return {"tokens": report.tokens, "shortened": report.shortened, **work}


def bare(options: argparse.Namespace) -> dict[str, float]:
    import numpy as np
    from tokenizers import Tokenizer

    texts = json.loads((options.folder / "texts.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(options.tokenizer / "tokenizer.json"))
    tokens = 0
    clock, cpu = time.perf_counter(), all_cpu()
    for start in range(0, len(texts), CHUNK):
        for item in tokenizer.encode_batch_fast(texts[start : start + CHUNK], add_special_tokens=False):
            tokens += len(np.array(item.ids, dtype=np.int32))
    return {"tokens": tokens, "work_clock": time.perf_counter() - clock, "work_cpu": all_cpu() - cpu}


def peer(options: argparse.Namespace) -> dict[str, float]:
    python = peer_python(options)
    target = options.folder / "peer"
    shutil.rmtree(target, ignore_errors=True)
    words = [
        *(str(python), "-c", PEER_DRIVER, str(options.tokenizer), str(options.folder), str(target)),
        *(str(options.workers), str(options.seq_length), options.template),
    ]
    with tempfile.TemporaryDirectory(dir=options.folder) as cache:
        environment = {"HF_DATASETS_CACHE": cache, "HF_HUB_OFFLINE": "1", "DISABLE_VERSION_CHECK": "1"}
        output, clock, cpu = timed(words, environment)
    return {"clock": clock, "cpu": cpu, "tokens": float(output.splitlines()[-1].split()[1])}


def peer_python(options: argparse.Namespace) -> Path:
    python: Path = options.peer_venv / "bin" / "python"
    if not python.exists():
        print(f"installing {PEER} into {options.peer_venv} …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(options.peer_venv)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PEER], check=True)
    return python


def report(results: dict[str, list[dict[str, float]]]) -> None:
    for side, rounds in results.items():
        print(f"{side:5} {rounds[0]['tokens']:.0f} tokens")
        for name in [key for key in rounds[0] if key not in ("tokens", "shortened")]:
            print(f"      {name:10} {spread([one[name] for one in rounds])} s")
    if "peer" in results:
        for name in ("clock", "cpu"):
            print(f"peer ÷ ours, whole job, {name}: {ratios(results['peer'], results['ours'], name, name)}")
    for name in ("clock", "cpu"):
        work = f"work_{name}"
        print(f"bare ÷ ours, rows alone, {name}: {ratios(results['bare'], results['ours'], work, work)}")
        print(f"bare, rows alone ÷ ours, whole job, {name}: {ratios(results['bare'], results['ours'], work, name)}")
    shortened = results["ours"][0]["shortened"]
    if not shortened and results["ours"][0]["tokens"] != results["bare"][0]["tokens"]:
        sys.exit("ours and the bare tokenizer do not agree")


def ratios(above: list[dict[str, float]], below: list[dict[str, float]], first: str, second: str) -> str:
    """Median, and each round's."""
    found = [one[first] / other[second] for one, other in zip(above, below, strict=True)]
    return f"{statistics.median(found):.2f} ({', '.join(f'{one:.2f}' for one in found)})"


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):7.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    sys.exit(main())
