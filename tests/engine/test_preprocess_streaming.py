"""However large the file: memory stays as it is, all cores work, and the way that is left is told."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from engine.failures import Failure
from engine.preprocess.pool import in_order
from engine.preprocess.progress import Progress
from tests.engine import native
from tests.engine.native import Emitter

ROOT = Path(__file__).parents[2]
MEASURE = """
import resource, sys
from engine.preprocess.__main__ import main
from engine.events import Emitter
from engine.stage_file import StageFile
main(StageFile.read(sys.argv[1]), Emitter(None))
peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print("peaks", *peaks)
"""
WORDS = ("the", "train", "to", "platform", "two", "leaves", "at", "noon", "and", "nobody", "waits", "for", "latecomers")


def rows(path: Path, megabytes: float) -> Path:
    rng = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 1e6:
            words = rng.choices(WORDS, k=rng.randrange(20, 400))
            file.write(json.dumps({"instruction": f"Say {rng.random()}", "output": " ".join(words)}) + "\n")
    return path


def peaks(tmp_path: Path, model: Path, name: str, megabytes: float) -> list[int]:
    """Peak memory of the stage's own process and of its largest worker, in MB."""
    dataset = {"path": str(rows(tmp_path / f"{name}.jsonl", megabytes)), "format": "alpaca"}
    file = native.stage_file(tmp_path / name, "preprocess", model, dataset=dataset, packing=True, seq_length=512)
    path = file.folder.stage("preprocess") / "stage.json"
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [int(number) // 1024 for number in done.stdout.splitlines()[-1].split()[1:]]


def test_memory_does_not_grow_with_the_file(tiny_model: Path, tmp_path: Path) -> None:
    small, large = peaks(tmp_path, tiny_model, "small", 3), peaks(tmp_path, tiny_model, "large", 18)
    assert all(after < before + 25 for before, after in zip(small, large, strict=True)), (small, large)
    assert max(large) < 1000


def test_results_come_in_order_and_only_a_few_items_wait(tmp_path: Path) -> None:
    read: list[int] = []

    def items() -> object:
        for number in range(60):
            read.append(number)
            yield number

    pids = set()
    for place, (number, pid) in enumerate(in_order(lambda one: (one, os.getpid()), items(), 3)):
        assert number == place
        assert len(read) <= place + 2 * 3 + 2
        pids.add(pid)
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 3


def test_one_item_or_one_worker_needs_no_other_process() -> None:
    assert list(in_order(lambda _: os.getpid(), [1], 4)) == [os.getpid()]
    assert list(in_order(lambda _: os.getpid(), [1, 2, 3], 1)) == [os.getpid()] * 3
    assert list(in_order(lambda _: os.getpid(), [], 4)) == []


def test_a_killed_worker_is_a_failure_with_a_reason() -> None:
    with pytest.raises(Failure) as failure:
        list(in_order(lambda _: os.kill(os.getpid(), 9), range(8), 2))
    assert failure.value.problem.code == "preprocess.worker_killed"


def test_a_failure_in_a_worker_arrives_as_it_was() -> None:
    def fail(_: int) -> None:
        raise Failure("preprocess.changed", "train.dataset.path", "site", path="x")

    with pytest.raises(Failure) as failure:
        list(in_order(fail, range(8), 2))
    assert failure.value.problem.parameters == {"path": "x"}
    assert (failure.value.problem.field, failure.value.problem.fault) == ("train.dataset.path", "site")


def test_progress_is_told_in_bytes_of_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from engine.preprocess import progress

    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path in paths:
        path.write_bytes(b"x" * 3_000_000)
    times = iter([0.0, 0.0, 10.0, 30.0, 30.1])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    told = Progress(Emitter(tmp_path / "told.jsonl"), paths, log_interval=100)
    told.begin(0)
    with paths[0].open("rb", buffering=0) as file:
        file.read(1_500_000)
        told.tell(50)
    with paths[1].open("rb", buffering=0) as file:
        file.read(1_500_000)
        told.tell(150)
        told.tell(160)
    facts = [json.loads(line)["data"] for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert facts == [
        {"done": 1.5, "total": 6.0, "unit": "MB", "seconds_left": 30.0},
        {"done": 4.5, "total": 6.0, "unit": "MB", "seconds_left": 10.0},
    ]
    assert capsys.readouterr().out == " processed 150 rows (5 rows/s, 10 s left)\n"


def test_several_files_and_workers_lose_no_row(tiny_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(3):
        rows(folder / f"{number}.jsonl", 0.7)
    count = sum(len(path.read_text().splitlines()) for path in folder.iterdir())
    dataset = {"path": str(folder), "format": "alpaca"}
    file = native.preprocess(tmp_path / "run", tiny_model, dataset=dataset, seq_length=64)
    report = json.loads((file.folder.data / "report.json").read_text())
    assert report["rows_read"] == count
    assert report["rows_read"] == report["rows_kept"] + sum(one["rows"] for one in report["rows_dropped"])
