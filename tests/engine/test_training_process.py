"""The stage `train` as a process: what it tells, how it stops, how it goes on, how it fails."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.stage_file import StageFile
from engine.training.report import Iteration, log_line
from engine.training.schedule import Schedule
from engine.weights import checkpoint
from tests.engine import native

LONG = 4000


def test_the_log_line_is_megatrons() -> None:
    it = Iteration(
        number=1, total=2000, consumed_samples=64, global_batch_size=64, loss=11.93217, grad_norm=24.317,
        learning_rate=6.25e-8, elapsed_ms=15873.4, skipped=False,
    )  # fmt: skip
    assert log_line(it, datetime(2026, 3, 2, 10, 15, 7)) == (
        " [2026-03-02 10:15:07] iteration        1/    2000 | consumed samples:           64 |"
        " elapsed time per iteration (ms): 15873.4 | learning rate: 6.250000E-08 | global batch size:    64 |"
        " lm loss: 1.193217E+01 | loss scale: 1.0 | grad norm: 24.317 | number of skipped iterations:   0 |"
        " number of nan iterations:   0 |"
    )
    assert it.tokens_per_second(seq_length=4096, devices=8) == pytest.approx(64 * 4096 / 8 / 15.8734)


def test_the_learning_rate_climbs_then_falls_to_its_minimum() -> None:
    schedule = Schedule(peak=1.0, minimum=0.1, train_iters=100)
    rates = [schedule.rate(step) for step in range(1, 101)]
    assert rates[:10] == pytest.approx([step / 10 for step in range(1, 11)])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[54] == pytest.approx(0.55)
    assert rates[-1] == pytest.approx(0.1)


def test_each_iteration_is_told_with_every_figure(tiny_model: Path, tmp_path: Path) -> None:
    file = native.train(tmp_path, tiny_model, save_interval=2, train_iters=5)
    metrics = native.emitted(file, "metric")
    assert [m["iteration"] for m in metrics] == [1, 2, 3, 4, 5]
    for m in metrics:
        assert m["tokens_per_second_per_device"] == pytest.approx(
            8 * 64 / m["elapsed_ms_per_iteration"] * 1000, rel=1e-3
        )
        assert m["skipped"] == 0
    assert [c["iteration"] for c in native.emitted(file, "checkpoint")] == [2, 4, 5]
    assert [c.name for c in checkpoint.complete(file.folder.checkpoints)] == ["iter_0000004", "iter_0000005"]
    assert (file.folder.checkpoints / checkpoint.LATEST).read_text(encoding="utf-8").strip() == "5"
    last = native.emitted(file, "progress")[-1]
    assert (last["done"], last["total"], last["seconds_left"]) == (5, 5, 0)


def test_a_gradient_that_is_not_finite_is_skipped_and_counted(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.training.piece import Piece

    whole = Piece.forward
    calls = iter(range(100))  # two an iteration: the third is poisoned

    def poisoned(self: Piece, *args: Any, **kwargs: Any) -> torch.Tensor:
        return whole(self, *args, **kwargs) * (float("inf") if next(calls) == 4 else 1.0)

    monkeypatch.setattr(Piece, "forward", poisoned)
    file = native.train(tmp_path, tiny_model)
    metrics = native.emitted(file, "metric")
    assert [m["skipped"] for m in metrics] == [0, 0, 1, 0, 0, 0]
    assert metrics[2]["lm_loss"] == "Infinity"
    assert metrics[3]["learning_rate"] == metrics[2]["learning_rate"], "the schedule waits for a skipped update"
    assert metrics[-1]["lm_loss"] < metrics[0]["lm_loss"]
    progress = checkpoint.read_progress(file.folder.checkpoints / "iter_0000006")
    assert (progress.iteration, progress.skipped) == (6, 1)


def wait_for_iteration(file: StageFile, process: subprocess.Popen[str], iteration: int, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while len(native.emitted(file, "metric")) < iteration:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the training does not come on"
        time.sleep(0.05)


def test_sigterm_saves_a_checkpoint_and_a_restart_goes_on_as_if_nothing_was(tiny_model: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"train_iters": LONG, "save_interval": LONG, "strategy": "lora", "lora": {"dropout": 0.1}}
    native.preprocess(tmp_path, tiny_model, **options)
    file = native.stage_file(tmp_path, "train", tiny_model, **options)
    with native.process(file) as process:
        wait_for_iteration(file, process, 3)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 143, output
    stopped_at = native.emitted(file, "metric")[-1]["iteration"]
    saved = checkpoint.newest(file.folder.checkpoints)
    assert saved is not None
    assert checkpoint.read_progress(saved).iteration == stopped_at < LONG

    from engine.training.__main__ import train
    from engine.training.stop import StopRequest
    from engine.training.world import alone

    stop = StopRequest()

    class Ending(native.Emitter):
        def emit(self, kind: Any, rank: int = 0, **data: Any) -> None:
            super().emit(kind, rank, **data)
            stop.asked = stop.asked or (kind == "metric" and data["iteration"] >= stopped_at + 4)

    straight = native.stage_file(tmp_path / "straight", "train", tiny_model, **options)
    native.preprocess(tmp_path / "straight", tiny_model, **options)
    for each in (file, straight):
        stop.asked = False
        with pytest.raises(native.Stopped):
            train(each, Ending(each.folder.stage("train") / "emitted.jsonl"), alone(each.layout), stop)
    assert [m["iteration"] for m in native.emitted(file, "metric")] == list(range(1, stopped_at + 6))
    assert native.losses(file) == pytest.approx(native.losses(straight), abs=1e-5)


def test_two_processes_stop_together(tiny_model: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"train_iters": LONG, "save_interval": LONG}
    native.preprocess(tmp_path, tiny_model, **options)
    file = native.stage_file(tmp_path, "train", tiny_model, devices=2, **options)
    with native.process(file) as process:
        wait_for_iteration(file, process, 2)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    saved = checkpoint.newest(file.folder.checkpoints)
    assert saved is not None, output
    assert checkpoint.read_progress(saved).iteration == native.emitted(file, "metric")[-1]["iteration"]
    assert native.emitted(file, "problem") == []


@pytest.mark.parametrize("damage", ["weights", "layer"])
def test_a_failure_is_said_with_its_code(tiny_model: Path, tmp_path: Path, damage: str) -> None:
    options: dict[str, Any] = {"strategy": "lora"}
    native.preprocess(tmp_path, tiny_model, **options)
    model = tiny_model
    if damage == "weights":
        model = tmp_path / "model"
        model.mkdir()
        (model / "config.json").write_text(json.dumps({"model_type": "llama"}), encoding="utf-8")
    else:
        options["lora"] = {"target_modules": ["q_proj", "nonsense"]}
    file = native.stage_file(tmp_path, "train", model, **options)
    with native.process(file) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    problem = native.emitted(file, "problem")[0]["problem"]
    assert problem["code"] == {"weights": "weights.unreadable", "layer": "lora.no_such_layer"}[damage]
    assert re.search(rf"{problem['code']}: \S", output)
    if damage == "layer":
        assert problem["parameters"]["layer"] == "nonsense"
        assert "q_proj" in problem["parameters"]["known"]


def test_a_training_killed_while_it_saved_goes_on_and_clears_up(tiny_model: Path, tmp_path: Path) -> None:
    """Killed after the folder of its last checkpoint was whole, and before it was pointed to."""
    file = native.train(tmp_path, tiny_model, train_iters=2)
    pointer = file.folder.checkpoints / checkpoint.LATEST
    pointer.unlink()
    native.train(tmp_path, tiny_model, train_iters=2)
    assert pointer.read_text(encoding="utf-8") == "2\n"
    half = file.folder.checkpoints / ".iter_0000003.123.tmp"
    half.mkdir()
    native.train(tmp_path, tiny_model, train_iters=3)
    assert not half.exists()
    assert [m["iteration"] for m in native.emitted(file, "metric")] == [1, 2, 3]


def test_checkpoints_are_ordered_by_number(tmp_path: Path) -> None:
    for iteration in (9_999_999, 10_000_000):
        (tmp_path / checkpoint.name(iteration)).mkdir()
        (tmp_path / checkpoint.name(iteration) / "done").touch()
    assert checkpoint.newest(tmp_path) == tmp_path / "iter_10000000"


def test_a_process_whose_peer_was_killed_does_not_call_it_unforeseen(tiny_model: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"train_iters": LONG, "save_interval": LONG}
    native.preprocess(tmp_path, tiny_model, **options)
    file = native.stage_file(tmp_path, "train", tiny_model, devices=2, **options)
    with native.process(file) as process:
        wait_for_iteration(file, process, 2)
        os.kill(rank_of(process.pid, 1), signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    codes = {one["problem"]["code"] for one in native.emitted(file, "problem")}
    assert codes <= {"stage.peer_lost"}, output
    assert "received by PID" in output, "the runner finds the killed process by this"


def rank_of(launcher: int, rank: int) -> int:
    """Number of one of the processes that torchrun has started."""
    for child in Path(f"/proc/{launcher}/task/{launcher}/children").read_text(encoding="utf-8").split():
        if f"RANK={rank}".encode() in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            return int(child)
    raise LookupError(rank)


@pytest.mark.parametrize(
    "said", ["Connection closed by peer", "Read error: Connection reset by peer", "writev: Broken pipe"]
)
def test_what_gloo_says_of_a_lost_peer_is_understood(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.stage_process import _unexpected

    monkeypatch.setenv("WORLD_SIZE", "2")
    assert _unexpected(RuntimeError(f"[pair.cc:144] {said} [127.0.0.1]:4321")).code == "stage.peer_lost"
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert _unexpected(RuntimeError(f"[pair.cc:144] {said} [127.0.0.1]:4321")).code == "stage.unexpected"
