"""What the announcer tells Redis is what the files say: ids are byte offsets, lines are whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from engine.run_folder import RunFolder
from jobs.announcer import BACKLOG_BYTES, CHUNK_BYTES, Announcer, pieces, stream_key
from tests.made_runs import wait_until
from tests.valkey_server import ValkeyServer


@pytest.fixture
def server() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    server.start()
    yield server
    server.close()


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "17")
    folder.create()
    folder.events.touch()
    return folder


def stream(server: ValkeyServer, name: str) -> list[tuple[int, bytes]]:
    """(end offset, data) of each entry."""
    entries = cast(list[Any], server.client.xrange(stream_key("17", name)))
    return [(int(identity.split(b"-")[0]), fields[b"d"]) for identity, fields in entries]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def agrees_with_file(entries: list[tuple[int, bytes]], path: Path) -> bool:
    """Every entry is what the file has before its end offset."""
    content = path.read_bytes()
    return all(content[end - len(data) : end] == data for end, data in entries)


def test_whole_lines_are_announced_under_their_end_offset(server: ValkeyServer, folder: RunFolder) -> None:
    announcer, log = Announcer(folder, server.url), folder.log("train")
    append(log, b"one\ntwo\nthr")
    announcer.on_change(log)
    assert stream(server, "logs/train.0.log") == [(8, b"one\ntwo\n")]
    append(log, b"ee\n")
    announcer.on_change(log)
    assert stream(server, "logs/train.0.log")[1:] == [(14, b"three\n")]


def test_the_end_announces_a_last_half_line_and_lets_the_streams_expire(
    server: ValkeyServer, folder: RunFolder
) -> None:
    announcer, log = Announcer(folder, server.url), folder.log("train")
    append(log, b"one\nhalf")
    announcer.on_change(log)
    announcer.close()
    assert stream(server, "logs/train.0.log") == [(4, b"one\n"), (8, b"half")]
    assert 0 < cast(int, server.client.ttl(stream_key("17", "logs/train.0.log"))) <= 3600


def test_a_new_announcer_goes_on_where_the_old_one_stopped(server: ValkeyServer, folder: RunFolder) -> None:
    log = folder.log("train")
    append(log, b"one\n")
    Announcer(folder, server.url).on_change(log)
    append(log, b"two\n")
    Announcer(folder, server.url).on_change(log)
    assert stream(server, "logs/train.0.log") == [(4, b"one\n"), (8, b"two\n")]


def test_an_entry_that_is_already_there_counts_as_announced(server: ValkeyServer, folder: RunFolder) -> None:
    announcer, log = Announcer(folder, server.url), folder.log("train")
    append(log, b"one\n")
    announcer.on_change(log)
    server.client.xadd(stream_key("17", "logs/train.0.log"), {"d": b"two\n"}, id="8-0")
    append(log, b"two\n")
    announcer.on_change(log)
    append(log, b"three\n")
    announcer.on_change(log)
    assert [end for end, _ in stream(server, "logs/train.0.log")] == [4, 8, 14]


def test_a_run_that_begins_does_not_go_on_with_the_streams_of_another(server: ValkeyServer, folder: RunFolder) -> None:
    """Numbers of runs begin anew with a new database, while Redis keeps what it has."""
    folder.events.unlink()
    log = folder.log("train")
    for name, end in (("logs/train.0.log", 4), ("logs/train.0.log", 900), ("logs/old.0.log", 3), ("events.jsonl", 5)):
        server.client.xadd(stream_key("17", name), {"d": b"old\n"}, id=f"{end}-0")
    server.client.xadd(stream_key("171", "events.jsonl"), {"d": b"other\n"}, id="6-0")
    announcer = Announcer(folder, server.url)
    folder.events.touch()
    append(log, b"one\ntwo\n")
    announcer.on_change(log)
    assert stream(server, "logs/train.0.log") == [(8, b"one\ntwo\n")]
    kept = {stream_key("171", "events.jsonl"), stream_key("17", "logs/train.0.log")}
    assert {key.decode() for key in cast(list[bytes], server.client.keys())} == kept


def test_a_stream_that_is_longer_than_its_file_is_begun_anew(server: ValkeyServer, folder: RunFolder) -> None:
    log = folder.log("train")
    server.client.xadd(stream_key("17", "logs/train.0.log"), {"d": b"old\n"}, id="900-0")
    append(log, b"one\n")
    Announcer(folder, server.url).on_change(log)
    assert stream(server, "logs/train.0.log") == [(4, b"one\n")]


def test_a_server_that_dies_and_loses_its_data_is_used_again_when_it_is_back(
    server: ValkeyServer, folder: RunFolder
) -> None:
    announcer, log = Announcer(folder, server.url), folder.log("train")
    append(log, b"one\n")
    announcer.on_change(log)
    server.kill()
    append(log, b"two\n")
    announcer.on_change(log)  # nobody hears it, nothing is raised
    server.start()

    def heard() -> bool:
        announcer.on_change(log)
        return bool(stream(server, "logs/train.0.log"))

    wait_until(heard)
    assert stream(server, "logs/train.0.log") == [(8, b"two\n")]


def test_after_an_outage_only_the_end_of_a_long_file_is_announced(server: ValkeyServer, folder: RunFolder) -> None:
    announcer, log = Announcer(folder, server.url), folder.log("train")
    line = b"x" * 99 + b"\n"
    append(log, line * (4 * BACKLOG_BYTES // len(line)))
    announcer.on_change(log)
    entries = stream(server, "logs/train.0.log")
    assert entries[-1][0] == log.stat().st_size
    assert agrees_with_file(entries, log)
    assert all(data.startswith(b"x" * 99 + b"\n") for _, data in entries)
    assert BACKLOG_BYTES - len(line) <= sum(len(data) for _, data in entries) <= BACKLOG_BYTES


@pytest.mark.parametrize("url", [None, "unix:///no/such/socket", "redis://127.0.0.1:1/0"])
def test_without_redis_nothing_is_raised(folder: RunFolder, url: str | None) -> None:
    announcer = Announcer(folder, url)
    append(folder.log("train"), b"one\n")
    announcer.on_change(folder.log("train"))
    announcer.close()


def test_an_overlong_line_is_cut_between_two_characters(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" + "训".encode() * CHUNK_BYTES + b"\nend\n")
    found = pieces(path, 0, final=False)
    assert b"".join(found) == path.read_bytes()
    assert max(len(piece) for piece in found) <= CHUNK_BYTES
    assert "".join(piece.decode() for piece in found) == path.read_text(encoding="utf-8")


def test_an_overlong_progress_bar_is_cut_where_it_is_redrawn(tmp_path: Path) -> None:
    path = tmp_path / "log"
    bar = b"50% |#####     |\r"
    path.write_bytes(bar * (CHUNK_BYTES // len(bar) + 10))
    [piece] = pieces(path, 0, final=False)
    assert piece == bar * (CHUNK_BYTES // len(bar))


def test_bytes_that_are_no_text_are_passed_on_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\x80" * (CHUNK_BYTES + 100))
    assert b"".join(pieces(path, 0, final=True)) == path.read_bytes()
