"""Every layout trains as one process does: the same losses and norms, and on from the same checkpoints."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engine.plan import Layout
from engine.stage_file import StageFile
from engine.weights import tiny
from tests.engine import native
from tests.engine.layouts import OF_FOUR, OF_TWO, called, case, layout, prepared, run_together

EQUAL = 1e-5
ITERATIONS, STOP = 20, 7
ALONE = layout(1)
KINDS = [f"{family}-{strategy}-{rows}" for family in ("llama", "qwen2") for strategy in ("full", "lora") for rows in ("rows", "packed")]
LAYOUTS = [*OF_TWO, *OF_FOUR]


def kinds_of(number: int) -> list[str]:
    """Each layout trains both families, both strategies and both kinds of rows; each pair of these is met in turn."""
    half = [0, 3, 5, 6] if number % 2 else [1, 2, 4, 7]
    return [KINDS[index] for index in half]


def options(kind: str) -> dict[str, Any]:
    _, strategy, rows = kind.split("-")
    return {
        "strategy": strategy,
        "packing": rows == "packed",
        "seq_length": 96,
        "micro_batch_size": 2,
        "train_iters": ITERATIONS,
        "learning_rate": {"full": 3e-3, "lora": 2e-2}[strategy],
        "save_interval": 100,
    }


@dataclass
class Runs:
    place: Path
    models: dict[str, Path]
    alone: dict[str, StageFile] = field(default_factory=dict)

    def made(self, name: str, kind: str, one: Layout) -> StageFile:
        data = self.place / "data" / kind / "data"
        return prepared(self.place / name / kind, data, self.models[kind.split("-")[0]], one, **options(kind))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Everything is trained at once; the tests look at what came of it."""
    place = tmp_path_factory.mktemp("layouts")
    llama = tiny.make(place / "models" / "llama", seed=7, hidden_size=32, layers=4, vocab=512)
    runs = Runs(place, {"llama": llama, "qwen2": qwen2(llama, place / "models" / "qwen2")})
    for kind in KINDS:
        native.preprocess(place / "data" / kind, runs.models[kind.split("-")[0]], **options(kind))
        runs.alone[kind] = runs.made("alone", kind, ALONE)
        run_alone(runs.alone[kind])
    return runs


def qwen2(tokenizer: Path, folder: Path) -> Path:
    """With biases, which Llama has none of, and a head of its own."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from engine.weights.export import copy_tokenizer

    config = Qwen2Config(
        vocab_size=513, hidden_size=32, intermediate_size=72, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, tie_word_embeddings=False,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        Qwen2ForCausalLM(config).save_pretrained(str(folder))
    copy_tokenizer(tokenizer, folder)
    return folder


def run_alone(file: StageFile, stop_at: int | None = None) -> None:
    from tests.engine.layouts import run_case

    run_case(case(file, stop_at))


def figures(file: StageFile) -> list[tuple[float, float]]:
    return [(m["lm_loss"], m["grad_norm"]) for m in native.emitted(file, "metric")]
