"""A full disk is one problem with one code, whoever runs into it."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.disk import is_full, tells_of_full_disk
from engine.events import Emitter
from engine.failures import Failure
from engine.problem_texts import message
from engine.problems import LANGUAGES, Problem
from engine.runner import run
from engine.stage_file import StageFile
from engine.stage_process import FAILED, run_stage
from tests.engine import native
from tests.made_runs import made_run, problem_of, stage

ROOM = 1 << 18
"""Bytes that a nearly full disk still has."""


def no_space() -> None:
    """What a write to a full disk raises, without one: the device exists for this, and is only ever written to."""
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        os.write(descriptor, b"x")
    finally:
        os.close(descriptor)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(folder: Path, room: int = ROOM) -> None:
    """Leave `room` bytes."""
    filler = folder / "filler"
    size = shutil.disk_usage(folder).free - room
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


def write_text(folder: Path) -> None:
    (folder / "text").write_bytes(bytes(1 << 20))


def write_safetensors(folder: Path) -> None:
    import numpy as np
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(1 << 20, np.float32)}, folder / "weights.safetensors")


def write_pickle(folder: Path) -> None:
    import torch

    torch.save({"a": torch.zeros(1 << 20)}, folder / "optimizer.pt")


@pytest.mark.parametrize("write", [write_text, write_safetensors, write_pickle])
def test_every_writer_is_understood(small_disk: Path, write: Callable[[Path], None]) -> None:
    fill(small_disk)
    assert tells_of_full_disk(raised_by(lambda: write(small_disk)))


def raised_by(work: Callable[[], object]) -> BaseException:
    """What it raises, of whatever kind: each library has its own."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 - whichever it is, it is looked at
        return error
    pytest.fail("nothing was raised")


def test_an_error_that_came_of_a_full_disk_is_one_and_others_are_not() -> None:
    error = RuntimeError("cannot save")
    error.__cause__ = OSError(errno.EDQUOT, "quota")
    assert tells_of_full_disk(error)
    assert not tells_of_full_disk(OSError(errno.ENOENT, "no such file"))


@pytest.mark.parametrize("log", ["plain", "full"])
def test_a_stage_says_disk_full_also_when_its_log_takes_nothing(
    tiny_model: Path, tmp_path: Path, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = native.stage_file(tmp_path, "train", tiny_model)
    emitted = file.folder.stage("train") / "emitted.jsonl"
    monkeypatch.setenv("TRAINYARD_EMIT", str(emitted) if log == "plain" else "/dev/full")

    def work(_file: StageFile, _emitter: Emitter) -> None:
        no_space()

    assert run_stage(work, [str(file.folder.stage("train") / "stage.json")]) == FAILED
    if log == "plain":
        problem = Problem.model_validate(native.emitted(file, "problem")[0]["problem"])
        assert (problem.code, problem.fault) == ("disk.full", "site")
        for language in LANGUAGES:
            assert "?" not in message(problem, language)


def test_the_runner_reads_it_in_the_log(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", "os.write(os.open('/dev/full', os.O_WRONLY), b'x')"))
    assert run(folder).state == "failed"
    assert problem_of(folder)["code"] == "disk.full"


def test_the_runner_looks_at_the_disk_when_a_stage_fails_without_a_word(small_disk: Path) -> None:
    code = """
with open(run_dir / "data" / "filler", "wb", buffering=0) as file:
    try:
        while True: file.write(bytes(1 << 16))
    except OSError:
        os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - (1 << 18))  # room for the events
sys.exit(3)
"""
    folder = made_run(small_disk / "1", stage("train", code))
    assert run(folder).state == "failed"
    assert (problem_of(folder)["code"], problem_of(folder)["fault"]) == ("disk.full", "site")
    (folder.data / "filler").unlink()
    assert not is_full(folder.path)


@pytest.mark.parametrize("room", ["checkpoint", "export", "preprocess"])
def test_each_stage_meets_a_full_disk(tiny_model: Path, small_disk: Path, tmp_path: Path, room: str) -> None:
    options: dict[str, Any] = {"strategy": "lora", "lora": {"rank": 2}, "train_iters": 1}
    steps: dict[str, Callable[..., StageFile]] = {
        "preprocess": native.preprocess,
        "checkpoint": native.train,
        "export": native.export,
    }
    if room != "preprocess":
        native.train(small_disk, tiny_model, **options)
    if room == "checkpoint":
        options["train_iters"] = 2
        native.preprocess(small_disk, tiny_model, **options)
    fill(small_disk, {"preprocess": 1 << 14, "checkpoint": 1 << 16, "export": ROOM}[room])
    error = raised_by(lambda: steps[room](small_disk, tiny_model, **options))
    assert not isinstance(error, Failure)
    assert tells_of_full_disk(error), error
