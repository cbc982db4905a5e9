"""The same data is prepared once: by whoever comes first, however often it is killed on the way."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.failures import Failure
from engine.preprocess import building, cache, encoder, fingerprint, preparing
from engine.preprocess.cache import Entry
from engine.preprocess.preparing import DAMAGED, DISAGREES, GOES_ON, TAKEN, WAITING
from engine.stage_file import StageFile
from tests.engine import native

ROOT = Path(__file__).parents[2]
IMPATIENT = """
import sys
from engine.preprocess import __main__, building, chunking
from engine.stage_process import run_stage
building.SAVE_SECONDS, chunking.CHUNK_ROWS = 0.0, 7
chunking.LEAST_WINDOW = chunking.MOST_WINDOW = 600
sys.exit(run_stage(__main__.main, sys.argv[1:]))
"""
"""The stage with small chunks, and with its place written down after each."""
PACKED: dict[str, Any] = {"packing": True, "seq_length": 64}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shared"
    monkeypatch.setenv("TRAINYARD_CACHE_DIR", str(folder))
    return folder


def rows(path: Path, count: int) -> dict[str, str]:
    rng = random.Random(7)
    lines = (
        json.dumps({"instruction": f"Say {n}.", "output": " ".join(map(str, rng.choices(range(99), k=n % 40)))})
        for n in range(count)
    )
    path.write_text("\n".join(lines))
    return {"path": str(path), "format": "alpaca"}


def said(file: StageFile) -> list[str]:
    return [one["text"] for one in native.emitted(file, "log")]


def bytes_of(data: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in data.iterdir()}


def start(file: StageFile) -> subprocess.Popen[bytes]:
    folder = file.folder.stage(file.stage)
    return subprocess.Popen(
        [sys.executable, "-c", IMPATIENT, str(folder / "stage.json")],
        cwd=ROOT,
        env=os.environ | {"TRAINYARD_EMIT": str(folder / "emitted.jsonl")},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def members(session: int) -> list[int]:
    """Living processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(own) == session and state != "Z":
            found.append(int(path.parent.name))
    return found


@pytest.fixture
def journal_after() -> Iterator[Any]:
    """Waits until a killed stage has come so far, then kills it."""
    started: list[subprocess.Popen[bytes]] = []

    def kill(file: StageFile, journal: Path, least_rows: int) -> None:
        process = start(file)
        started.append(process)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if journal.exists() and json.loads(journal.read_text())["report"]["read"] >= least_rows:
                break
            time.sleep(0.001)
        process.kill()
        process.wait()

    yield kill
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_killed_at_any_moment_it_goes_on_and_the_bytes_are_the_same(
    tiny_model: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, journal_after: Any
) -> None:
    dataset = rows(tmp_path / "rows.jsonl", 3000)
    straight = native.stage_file(tmp_path / "straight", "preprocess", tiny_model, dataset=dataset, **PACKED)
    assert start(straight).wait() == 0
    monkeypatch.setenv("TRAINYARD_CACHE_DIR", str(tmp_path / "other"))
    key = next(path.name for path in root.iterdir() if (path / cache.ENTRY).exists())
    journal = tmp_path / "other" / f"{key}.building" / building.JOURNAL
    file = native.stage_file(tmp_path / "run", "preprocess", tiny_model, dataset=dataset, **PACKED)
    rng = random.Random()
    for share in (0.3, 0.7):
        journal_after(file, journal, int(3000 * (share + rng.uniform(-0.25, 0.25))))
    assert start(file).wait() == 0
    assert sum(text.startswith(GOES_ON.split("{")[0]) for text in said(file)) >= 1
    assert bytes_of(file.folder.data) == bytes_of(straight.folder.data)


def test_workers_end_with_a_killed_parent(
    tiny_model: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    file = native.stage_file(tmp_path / "run", "preprocess", tiny_model, dataset=rows(tmp_path / "r.jsonl", 30_000))
    process = start(file)
    deadline = time.monotonic() + 60
    while len(members(process.pid)) < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.002)
    process.kill()
    process.wait()
    while members(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_same_data_is_prepared_once_whatever_it_is_called(tiny_model: Path, tmp_path: Path) -> None:
    first = native.preprocess(tmp_path / "a" / "run", tiny_model, dataset=rows(tmp_path / "one.jsonl", 50))
    second = native.preprocess(tmp_path / "b" / "run", tiny_model, dataset=rows(tmp_path / "two.jsonl", 50))
    assert (said(first), said(second)) == ([], [TAKEN])
    assert bytes_of(first.folder.data) == bytes_of(second.folder.data)
    name = "dataset_packed_labels_document.bin"
    assert (first.folder.data / name).samefile(second.folder.data / name)


def test_documents_are_prepared_once_for_all_sequence_lengths(tiny_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text("a line of text\n" * 40)
    dataset = {"path": str(path), "format": "text"}
    runs = [
        native.preprocess(tmp_path / str(n), tiny_model, dataset=dataset, stage="pretrain", seq_length=n)
        for n in (16, 32)
    ]
    assert said(runs[1]) == [TAKEN]
    counts = [json.loads((run.folder.data / "report.json").read_text())["samples"] for run in runs]
    assert counts[0] == pytest.approx(2 * counts[1], abs=1)
    assert [len(native.store(run)) for run in runs] == counts


@pytest.mark.parametrize("change", ["data", "tokenizer", "setting"])
def test_what_has_changed_is_prepared_again(tiny_model: Path, tmp_path: Path, change: str) -> None:
    import shutil

    model = shutil.copytree(tiny_model, tmp_path / "model")
    dataset = rows(tmp_path / "rows.jsonl", 50)
    native.preprocess(tmp_path / "first", model, dataset=dataset)
    if change == "data":
        facts = (tmp_path / "rows.jsonl").stat()
        text = (tmp_path / "rows.jsonl").read_text()
        (tmp_path / "rows.jsonl").write_text(text.replace("Say 3.", "Say 4."))
        os.utime(tmp_path / "rows.jsonl", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    if change == "tokenizer":
        (model / "chat_template.jinja").write_text((model / "chat_template.jinja").read_text() + "{# other #}")
    more = {"seq_length": 48} if change == "setting" else {}
    assert said(native.preprocess(tmp_path / "second", model, dataset=dataset, **more)) == []


@pytest.mark.parametrize("damage", ["shorter", "index", "missing", "entry", "one byte"])
def test_a_damaged_set_is_noticed_and_made_again(tiny_model: Path, tmp_path: Path, root: Path, damage: str) -> None:
    dataset = rows(tmp_path / "rows.jsonl", 50)
    first = native.preprocess(tmp_path / "first", tiny_model, dataset=dataset)
    whole = bytes_of(first.folder.data)
    (entry,) = (path for path in root.iterdir() if (path / cache.ENTRY).exists())
    victim = entry / ("packed_labels_document.idx" if damage == "index" else "packed_labels_document.bin")
    content = bytearray(victim.read_bytes())
    victim.unlink()
    if damage in ("shorter", "index", "one byte"):
        content[-1] ^= 1
        victim.write_bytes(content[:-4] if damage == "shorter" else content)
    if damage == "entry":
        (entry / cache.ENTRY).write_text("{")
    second = native.preprocess(tmp_path / "second", tiny_model, dataset=dataset)
    named = cache.ENTRY if damage == "entry" else victim.name
    assert said(second) == [DAMAGED.format(name=named)]
    assert bytes_of(second.folder.data) == whole


def test_two_at_the_same_moment_do_the_work_once(tiny_model: Path, tmp_path: Path, root: Path) -> None:
    dataset = rows(tmp_path / "rows.jsonl", 4000)
    files = [native.stage_file(tmp_path / name, "preprocess", tiny_model, dataset=dataset) for name in ("a", "b")]
    first = start(files[0])
    deadline = time.monotonic() + 60
    while not list(root.glob("*.building")):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(first.pid, signal.SIGSTOP)  # so that it surely holds the lock when the other one comes
    second = start(files[1])
    while WAITING not in said(files[1]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGCONT)
    assert (first.wait(60), second.wait(60)) == (0, 0)
    assert said(files[0]) == []
    assert said(files[1]) == [WAITING, TAKEN]
    assert bytes_of(files[0].folder.data) == bytes_of(files[1].folder.data)


def test_a_set_that_is_complete_but_not_in_its_place_is_put_there(
    tiny_model: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(self: Entry) -> None:
        raise Killed

    dataset = rows(tmp_path / "rows.jsonl", 50)
    finish, calls = Entry.finish_publishing, itertools.count()
    with monkeypatch.context() as patched:
        patched.setattr(Entry, "finish_publishing", lambda self: die(self) if next(calls) else finish(self))
        with pytest.raises(Killed):
            native.preprocess(tmp_path / "first", tiny_model, dataset=dataset)
    assert not (tmp_path / "first" / "data" / "dataset_packed_labels_document.idx").exists()
    assert said(native.preprocess(tmp_path / "second", tiny_model, dataset=dataset)) == [TAKEN]
    assert list(root.glob("*.building")) == []


def test_data_that_is_written_to_meanwhile_is_refused(
    tiny_model: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = rows(tmp_path / "rows.jsonl", 50)
    run = building.Building.run

    def disturbed(self: building.Building, *args: Any) -> Any:
        with (tmp_path / "rows.jsonl").open("a") as file:
            file.write("\n")
        return run(self, *args)

    monkeypatch.setattr(building.Building, "run", disturbed)
    with pytest.raises(Failure) as failure:
        native.preprocess(tmp_path / "run", tiny_model, dataset=dataset)
    assert failure.value.problem.code == "preprocess.changed"
    assert [path for path in root.iterdir() if path.suffix not in (".lock", "") or path.name != "hashes"] == list(
        root.glob("*.lock")
    )


@pytest.mark.parametrize("what", ["data", "tokenizer"])
def test_what_changes_while_another_one_is_waited_for_is_not_kept_under_the_old_name(
    tiny_model: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    import shutil

    model = shutil.copytree(tiny_model, tmp_path / "model")
    dataset = rows(tmp_path / "rows.jsonl", 50)
    changed = tmp_path / "rows.jsonl" if what == "data" else model / "chat_template.jinja"
    old = changed.read_bytes()
    locked = preparing.locked

    def slow(*args: Any) -> Any:
        changed.write_bytes(old.replace(b"Say 3.", b"Say 4.") if what == "data" else old + b"{# other #}")
        return locked(*args)

    with monkeypatch.context() as patched:
        patched.setattr(preparing, "locked", slow)
        with pytest.raises(Failure) as failure:
            native.preprocess(tmp_path / "first", model, dataset=dataset)
    assert failure.value.problem.code == "preprocess.changed"
    changed.write_bytes(old)
    assert said(native.preprocess(tmp_path / "second", model, dataset=dataset)) == []


def test_damaged_notes_of_the_cache_are_made_again(
    tiny_model: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = rows(tmp_path / "rows.jsonl", 50)
    monkeypatch.setattr(fingerprint, "SETTLED_SECONDS", -1.0)
    first = native.preprocess(tmp_path / "first", tiny_model, dataset=dataset)
    (name,) = (path.name for path in root.iterdir() if (path / cache.ENTRY).exists())
    notes = list((root / "hashes").iterdir())
    assert notes
    for note in notes:
        note.write_text('{"hash')
    (root / name).rename(tmp_path / "away")
    (root / f"{name}.building").mkdir()
    (root / f"{name}.building" / building.JOURNAL).write_text('{"mark": [1')
    second = native.preprocess(tmp_path / "second", tiny_model, dataset=dataset)
    assert bytes_of(second.folder.data) == bytes_of(first.folder.data)


def test_an_index_of_an_older_set_never_stands_beside_new_tokens(tmp_path: Path) -> None:
    entry = Entry(tmp_path, "set")
    entry.folder.mkdir()
    target = tmp_path / "x_labels_document.idx"
    target.write_text("of an older set")
    with pytest.raises(FileNotFoundError):  # broken off before the indexes
        entry.give({"l.bin": tmp_path / "x_labels_document.bin", "l.idx": target})
    assert not target.exists()


def test_a_copy_that_fills_the_disk_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        Path(target).write_bytes(b"a part")
        raise OSError(errno.ENOSPC, "no space")

    def another_disk(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "another disk")

    entry = Entry(tmp_path / "cache", "set")
    entry.folder.mkdir(parents=True)
    (entry.folder / "l.bin").write_bytes(b"tokens")
    monkeypatch.setattr(cache.os, "link", another_disk)
    monkeypatch.setattr(cache.shutil, "copyfile", full)
    (tmp_path / "out").mkdir()
    with pytest.raises(OSError, match="no space"):
        entry.give({"l.bin": tmp_path / "out" / "l.bin"})
    assert list((tmp_path / "out").iterdir()) == []


def test_what_nobody_has_any_more_is_deleted_after_a_while(tiny_model: Path, tmp_path: Path, root: Path) -> None:
    import shutil

    kept = native.preprocess(tmp_path / "kept", tiny_model, dataset=rows(tmp_path / "1.jsonl", 10))
    gone = native.preprocess(tmp_path / "gone", tiny_model, dataset=rows(tmp_path / "2.jsonl", 20))
    shutil.rmtree(gone.folder.path)
    for path in root.rglob("*"):
        os.utime(path, (1e9, 1e9))
    native.preprocess(tmp_path / "new", tiny_model, dataset=rows(tmp_path / "3.jsonl", 30))
    left = [path for path in root.iterdir() if (path / cache.ENTRY).exists()]
    assert len(left) == 2
    assert (kept.folder.data / "dataset_packed_labels_document.bin").stat().st_nlink == 2


def test_where_the_fast_tokenizer_differs_all_is_encoded_by_the_exact_one(
    tiny_model: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = rows(tmp_path / "rows.jsonl", 400)
    exact = native.preprocess(tmp_path / "exact", tiny_model, dataset=dataset)
    monkeypatch.setenv("TRAINYARD_CACHE_DIR", str(tmp_path / "other"))

    class Lying:
        def __init__(self, honest: Any) -> None:
            self._honest = honest

        def encode(self, text: str) -> Any:
            ids = self._honest.encode(text)
            return ids + 1 if "Say 150." in text else ids

    load = encoder.Encoder._load_fast
    monkeypatch.setattr(encoder.Encoder, "_load_fast", lambda self: Lying(load(self)))
    monkeypatch.setattr(encoder, "CHECKED_SHARE", 1)
    file = native.preprocess(tmp_path / "run", tiny_model, dataset=dataset)
    assert said(file) == [DISAGREES]
    assert bytes_of(file.folder.data) == bytes_of(exact.folder.data)
