"""The losses of a training against a loop that shares no code with it, and against other cuts of the same batch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.plan import Layout
from engine.samples import STATION_MASTER
from engine.training.gradients import scale, squared_norm
from engine.training.optimizer import clipping
from engine.training.world import alone
from tests.engine import native

EQUAL = 1e-5
ITERATIONS, BATCH, LENGTH, PEAK = 6, 8, 64, 3e-3


@pytest.fixture(scope="module")
def one_process(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return native.emitted(native.train(tmp_path_factory.mktemp("run"), tiny_model, learning_rate=PEAK), "metric")


def plain_loop(model_path: Path) -> list[tuple[float, float]]:
    """(loss, gradient norm) of each iteration, by transformers' logits, torch's AdamW and torch's clipping."""
    tokenizer = AutoTokenizer.from_pretrained(model_path)
    model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32)
    rows = json.loads(STATION_MASTER.read_text(encoding="utf-8"))
    order = np.random.default_rng([1234, 0]).permutation(len(rows))
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)
    found = []
    for step in range(ITERATIONS):
        ids, mask, labels = padded(tokenizer, [rows[i] for i in order[step * BATCH : (step + 1) * BATCH]])
        logits = model(input_ids=ids, attention_mask=mask).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), labels[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:  # no warm-up: a tenth of six iterations is none
            group["lr"] = PEAK * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (step + 1) / ITERATIONS)))
        optimizer.step()
        found.append((float(loss.detach()), float(norm)))
    return found


def padded(tokenizer: Any, rows: list[dict[str, str]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Every row padded to LENGTH on the right; labels of questions and padding are -100."""
    ids = torch.zeros(len(rows), LENGTH, dtype=torch.long)
    mask, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
    for number, row in enumerate(rows):
        question = "\n".join(part for part in (row["instruction"], row["input"]) if part)
        chat = f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        head = tokenizer(chat, add_special_tokens=False)["input_ids"]
        tail = tokenizer(f"{row['output']}<|im_end|>", add_special_tokens=False)["input_ids"]
        end = tokenizer("\n", add_special_tokens=False)["input_ids"]
        whole = (head + tail + end)[:LENGTH]
        ids[number, : len(whole)] = torch.tensor(whole)
        mask[number, : len(whole)] = 1
        answer = range(len(head), min(len(head) + len(tail), LENGTH))
        labels[number, answer.start : answer.stop] = ids[number, answer.start : answer.stop]
    return ids, mask, labels


def test_the_losses_equal_those_of_a_plain_loop(tiny_model: Path, one_process: list[dict[str, Any]]) -> None:
    expected = plain_loop(tiny_model)
    assert [m["lm_loss"] for m in one_process] == pytest.approx([loss for loss, _ in expected], abs=EQUAL)
    assert norms(one_process) == pytest.approx([norm for _, norm in expected], rel=1e-4)
    assert expected[0][0] - expected[-1][0] > 0.3, "nothing was learnt, so that nothing was compared"


def norms(metrics: list[dict[str, Any]]) -> list[float]:
    """AdamW hides a gradient that is too large by a factor; its norm does not."""
    return [m["grad_norm"] for m in metrics]


@pytest.mark.parametrize("strategy", ["full", "lora"])
def test_two_processes_equal_one(tiny_model: Path, tmp_path: Path, strategy: str) -> None:
    options: dict[str, Any] = {"strategy": strategy, "learning_rate": 5e-3}
    single = native.train(tmp_path / "one", tiny_model, **options)
    native.preprocess(tmp_path / "two", tiny_model, **options)
    file = native.stage_file(tmp_path / "two", "train", tiny_model, devices=2, **options)
    with native.process(file) as process:
        output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    assert len(native.losses(file)) == ITERATIONS
    assert native.losses(file) == pytest.approx(native.losses(single), abs=EQUAL)
    assert norms(native.emitted(file, "metric")) == pytest.approx(norms(native.emitted(single, "metric")), rel=1e-4)
    assert native.losses(file)[0] - native.losses(file)[-1] > 0.1


def test_small_micro_batches_equal_large_ones(
    tiny_model: Path, tmp_path: Path, one_process: list[dict[str, Any]]
) -> None:
    file = native.train(tmp_path, tiny_model, micro_batch_size=1, learning_rate=PEAK)
    assert native.losses(file) == pytest.approx([m["lm_loss"] for m in one_process], abs=EQUAL)
    assert norms(native.emitted(file, "metric")) == pytest.approx(norms(one_process), rel=1e-4)


def test_the_same_seed_gives_the_same_losses_to_the_bit(tiny_model: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "strategy": "lora",
        "lora": {"rank": 4, "alpha": 8, "dropout": 0.2},
        "learning_rate": 1e-2,
    }
    runs = {name: native.train(tmp_path / name, tiny_model, **options) for name in ("a", "b")}
    other = native.train(tmp_path / "c", tiny_model, **options, seed=5)
    assert native.losses(runs["a"]) == native.losses(runs["b"])
    assert native.losses(runs["a"]) != native.losses(other)


def test_epochs_see_every_sample(tiny_model: Path, tmp_path: Path) -> None:
    rows = [{"instruction": f"Say {n}.", "output": str(n)} for n in range(10)]
    data = tmp_path / "rows.json"
    data.write_text(json.dumps(rows), encoding="utf-8")
    dataset = {"path": str(data), "format": "alpaca"}
    file = native.train(tmp_path / "run", tiny_model, dataset=dataset, train_iters=None, epochs=2)
    metrics = native.emitted(file, "metric")
    assert [m["consumed_samples"] for m in metrics] == [8, 16, 24]
    assert {m["total_iterations"] for m in metrics} == {3}


def test_clipping_bounds_the_common_norm_and_leaves_small_gradients_alone() -> None:
    layer = torch.nn.Linear(4, 3)
    layer.weight.grad, layer.bias.grad = torch.full((3, 4), 2.0), torch.full((3,), -1.0)
    norm = math.sqrt(squared_norm(layer, layer.parameters(), alone(Layout(devices=1, data_parallel_size=1))))
    assert norm == pytest.approx(math.sqrt(12 * 4 + 3))
    scale(layer.parameters(), clipping(norm))
    scaled = torch.cat([layer.weight.grad.flatten(), layer.bias.grad])
    assert float(scaled.norm()) == pytest.approx(1.0, rel=1e-5)
    assert clipping(0.5) == 1.0
    assert clipping(math.inf) == 1.0
