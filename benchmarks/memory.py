"""The memory model of the native framework beside what its stage `train` really takes.

    python benchmarks/memory.py [--only NAME]

Each configuration trains a Llama of random weights for two iterations in a process of its own, saves a checkpoint,
and its largest resident size is what the kernel says of the process when it has ended (`ru_maxrss`). Printed is the
estimate, the measured size and their ratio. Every token is learnt (pre-training on text), which is what the estimate
is for; fine-tuning on conversations makes logits for the answers alone and takes less.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
ITERATIONS = 2


@dataclass(frozen=True)
class Dimensions:
    """Of a Llama whose output layer is its embedding."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    key_value_heads: int
    vocab_size: int


@dataclass(frozen=True)
class Configuration:
    model: str
    strategy: str
    seq_length: int
    micro_batch_size: int
    tensor: int = 1
    pipeline: int = 1
    replicas: int = 1
    zero: int = 0

    @property
    def name(self) -> str:
        cut = f"-tp{self.tensor}-pp{self.pipeline}-dp{self.replicas}-zero{self.zero}" if self.processes > 1 else ""
        return f"{self.model}-{self.strategy}-{self.seq_length}x{self.micro_batch_size}{cut}"

    @property
    def processes(self) -> int:
        return self.tensor * self.pipeline * self.replicas


MODELS = {
    "135m": Dimensions(576, 1536, 30, 9, 3, 49152),
    "60m": Dimensions(512, 1408, 16, 8, 8, 32000),
    "10m": Dimensions(256, 704, 8, 4, 4, 8192),
}
"""The first has the dimensions of SmolLM2-135M."""
CONFIGURATIONS = (
    Configuration("135m", "full", 128, 8),
    Configuration("135m", "full", 1024, 1),
    Configuration("135m", "full", 1024, 2),
    Configuration("135m", "lora", 128, 1),
    Configuration("135m", "lora", 256, 1),
    Configuration("135m", "lora", 128, 8),
    Configuration("135m", "lora", 512, 4),
    Configuration("60m", "full", 256, 4),
    Configuration("60m", "full", 512, 8),
    Configuration("60m", "lora", 256, 2),
    Configuration("60m", "lora", 2048, 1),
    Configuration("60m", "full", 64, 2),
    Configuration("10m", "full", 512, 1),
    Configuration("10m", "full", 2048, 1),
    Configuration("10m", "lora", 512, 2),
    Configuration("60m", "full", 64, 2, tensor=2),
    Configuration("60m", "full", 64, 2, pipeline=2),
    Configuration("60m", "full", 64, 2, replicas=2),
    Configuration("60m", "full", 64, 2, replicas=2, zero=1),
    Configuration("60m", "full", 64, 2, replicas=2, zero=2),
    Configuration("60m", "full", 64, 2, replicas=2, zero=3),
    Configuration("60m", "lora", 64, 2, replicas=2, zero=3),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="configurations whose name holds this")
    chosen = [one for one in CONFIGURATIONS if (parser.parse_args().only or "") in one.name]
    with tempfile.TemporaryDirectory(prefix="ty-memory-") as folder:
        print(f"{'configuration':40} {'estimate':>9} {'measured':>9}  ratio")
        for one in chosen:
            expected, measured = estimated(one), peak(one, Path(folder))
            print(f"{one.name:40} {expected:6.2f} GiB {measured:6.2f} GiB  {expected / measured:.2f}", flush=True)
    return 0


def estimated(one: Configuration) -> float:
    """GiB of one process by the memory model."""
    from engine.planner.memory import Setting, estimate

    setting = Setting(
        framework="native",
        shape=architecture(MODELS[one.model]),
        seq_length=one.seq_length,
        micro_batch_size=one.micro_batch_size,
        lora_rank=8 if one.strategy == "lora" else None,
        memory_gib=None,
        on_cpu=True,
    )
    return estimate(setting, layout_of(one)).breakdown.total / 2**30


def layout_of(one: Configuration) -> Any:
    from engine.plan import Layout

    return Layout(
        devices=one.processes,
        tensor_parallel_size=one.tensor,
        pipeline_parallel_size=one.pipeline,
        data_parallel_size=one.replicas,
        zero_stage=one.zero,
    )


def architecture(size: Dimensions) -> Any:
    from engine.architecture import Architecture

    return Architecture(
        model="random",
        model_type="llama",
        num_hidden_layers=size.layers,
        hidden_size=size.hidden_size,
        intermediate_size=size.intermediate_size,
        num_attention_heads=size.heads,
        num_key_value_heads=size.key_value_heads,
        head_dim=size.hidden_size // size.heads,
        vocab_size=size.vocab_size,
        max_position_embeddings=8192,
        rope_theta=None,
        rope_scaling="",
        tie_word_embeddings=True,
        qkv_bias=False,
        remote_code=False,
        experts=None,
        latent_attention=None,
        vision=None,
        total_params=None,
        source="",
        note="",
    )


def peak(one: Configuration, folder: Path) -> float:
    """GiB that the stage `train` had resident at its fullest; of several processes the largest."""
    model = folder / one.model
    if not model.exists():
        made(model, MODELS[one.model])
    stage = prepared(one, model, folder / one.name)
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(one.processes)]
    words = [sys.executable, *(several if one.processes > 1 else []), "-m", "engine.training", str(stage)]
    environment = os.environ | {"OMP_WAIT_POLICY": "PASSIVE", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    process = subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    said = process.stdout.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{one.name} failed:\n{said[-3000:]}")
    return used.ru_maxrss / 2**20


def made(folder: Path, size: Dimensions) -> None:
    """A model with a tokenizer of fewer words than it has entries: the ids are only looked up."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from engine.weights import tiny

    tiny.make(folder)
    config = LlamaConfig(
        vocab_size=size.vocab_size,
        hidden_size=size.hidden_size,
        intermediate_size=size.intermediate_size,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.key_value_heads,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).save_pretrained(str(folder))


def prepared(one: Configuration, model: Path, run: Path) -> Path:
    """The stage file of a training whose data have been preprocessed."""
    from engine.events import Emitter
    from engine.plan import Batch
    from engine.preprocess.__main__ import main as preprocess
    from engine.spec import JobSpec
    from engine.stage_file import StageFile

    spec = JobSpec.model_validate(
        {
            "name": "benchmark",
            "model": "any",
            "model_path": str(model),
            "framework": "native",
            "hardware": "cpu",
            "devices": one.processes,
            "train": {
                "stage": "pretrain",
                "strategy": one.strategy,
                "dataset": {"path": str(text(run.parent)), "format": "text"},
                "seq_length": one.seq_length,
            },
        }
    )
    micro = one.micro_batch_size
    batch = Batch(
        micro_batch_size=micro,
        global_batch_size=2 * micro * one.replicas,
        gradient_accumulation_steps=2,
        train_iters=ITERATIONS,
        epochs=None,
    )
    layout = layout_of(one)
    preprocess(StageFile(stage="preprocess", run_dir=str(run), spec=spec, layout=layout, batch=batch), Emitter(None))
    file = StageFile(stage="train", run_dir=str(run), spec=spec, layout=layout, batch=batch)
    place = file.folder.stage("train")
    place.mkdir(parents=True, exist_ok=True)
    (place / "stage.json").write_text(file.model_dump_json(), encoding="utf-8")
    return place / "stage.json"


def text(folder: Path) -> Path:
    from engine.samples import DOCUMENTS

    path = folder / "documents.txt"
    if not path.exists():
        path.write_text(DOCUMENTS.read_text(encoding="utf-8") * 200, encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
