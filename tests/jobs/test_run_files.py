"""Files of a run are read by byte offset, in whole lines, and never outside its folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from jobs.run_files import (
    LINE_CAP,
    Piece,
    followed_files,
    is_followed,
    line_end,
    open_followed,
    read_before,
    read_lines,
)

LOG = "logs/train.0.log"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path


def write(run: Path, data: bytes, age: float = 0) -> None:
    (run / LOG).write_bytes(data)
    os.utime(run / LOG, (time.time() - age,) * 2)


def read(run: Path, since: int, limit: int = LINE_CAP) -> Piece:
    with open_followed(run, LOG) as file:
        return read_lines(file, since, limit)


@pytest.mark.parametrize("name", ["events.jsonl", "logs/train.0.log", "logs/preprocess.12.log"])
def test_events_and_logs_may_be_read(name: str) -> None:
    assert is_followed(name)


@pytest.mark.parametrize(
    "name",
    [
        "../2/events.jsonl",
        "logs/../spec.json",
        "logs/../../2/logs/train.0.log",
        "/etc/passwd",
        "spec.json",
        "logs/a/b.log",
        "logs/.hidden.log",
        "logs/train.0.log\n",
        "logs/train.0.log\0",
        "logs//train.0.log",
        "",
    ],
)
def test_nothing_else_may_be_read(run: Path, name: str) -> None:
    assert not is_followed(name)
    with pytest.raises(FileNotFoundError):
        open_followed(run, name)


def test_a_symbolic_link_does_not_lead_out_of_the_run(run: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret\n")
    (run / "logs" / "link.log").symlink_to(secret)
    with pytest.raises(FileNotFoundError):
        open_followed(run, "logs/link.log")


def test_a_linked_log_folder_does_not_lead_out_of_the_run(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "train.0.log").write_text("secret\n")
    run = tmp_path / "run"
    run.mkdir()
    (run / "logs").symlink_to(elsewhere)
    with pytest.raises(FileNotFoundError):
        open_followed(run, LOG)


def test_a_pipe_is_not_waited_for(run: Path) -> None:
    os.mkfifo(run / LOG)
    with pytest.raises(FileNotFoundError):
        open_followed(run, LOG)


def test_the_half_line_of_a_living_writer_is_held_back(run: Path) -> None:
    write(run, b"one\ntwo\nthr")
    assert read(run, 0) == Piece(0, b"one\ntwo\n")
    assert read(run, 8) == Piece(8, b"")


def test_a_half_line_that_nobody_continues_is_handed_out(run: Path) -> None:
    write(run, b"one\nhalf", age=60)
    assert read(run, 4) == Piece(4, b"half")
    with open_followed(run, LOG) as file:
        assert line_end(file) == 8


def test_a_long_line_comes_in_parts_that_do_not_cut_a_character(run: Path) -> None:
    text = ("x" + "车" * LINE_CAP + "\n").encode()
    write(run, text)
    parts, cursor = [], 0
    while cursor < len(text):
        piece = read(run, cursor)
        piece.data.decode("utf-8")  # raises on a cut character
        parts.append(piece.data)
        cursor = piece.end
    assert b"".join(parts) == text
    assert len(parts) > 2


def test_the_end_of_a_file_begins_with_a_whole_line(run: Path) -> None:
    write(run, b"".join(b"line %d\n" % number for number in range(100)))
    with open_followed(run, LOG) as file:
        assert read_before(file, line_end(file), 20) == Piece(774, b"line 98\nline 99\n")
        assert read_before(file, 774, 16) == Piece(758, b"line 96\nline 97\n")
        assert read_before(file, 10, 1000) == Piece(0, b"line 0\nlin")


def test_reading_backwards_piece_by_piece_gives_the_file(run: Path) -> None:
    content = b"".join(b"%d %s\n" % (number, b"y" * (number % 90)) for number in range(500))
    write(run, content)
    parts, end = [], len(content)
    with open_followed(run, LOG) as file:
        while end:
            piece = read_before(file, end, 300)
            parts.insert(0, piece.data)
            end = piece.start
    assert b"".join(parts) == content


def test_files_are_listed_events_first(run: Path) -> None:
    for name in ("events.jsonl", "logs/a.0.log", "logs/b.0.log", "logs/notes.txt"):
        (run / name).write_text("\n")
    assert followed_files(run) == ["events.jsonl", "logs/a.0.log", "logs/b.0.log"]
