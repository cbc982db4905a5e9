"""Uploads in pieces: continued after every break, proven, and only then there."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from jobs.datasets import uploads
from jobs.datasets.cleaning import ABANDONED_AFTER, clean
from jobs.datasets.finishing import finish, team_folder
from jobs.datasets.upload_names import MOST_BYTES, safe_name
from jobs.datasets.upload_refusals import UploadRefused
from jobs.datasets.uploads import begin, cancel, incoming, offset, partial, receive
from jobs.models import AuditEvent, Dataset, Team, Upload, UploadState

DATA = b"".join(b'{"instruction": "%d", "output": "yes"}\n' % number for number in range(2000))
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def upload(alice: User, team: Team, data_dir: Path) -> Upload:
    return begin(user=alice, team=team, name="rows.jsonl", size=len(DATA), modified=7)[0]


def send(upload: Upload, data: bytes = DATA, size: int = 10_000) -> None:
    for start in range(offset(upload), len(data), size):
        piece = data[start : start + size]
        receive(upload, start, piece, hashlib.sha256(piece).digest())


@contextmanager
def refused(status: int) -> Iterator[pytest.ExceptionInfo[UploadRefused]]:
    with pytest.raises(UploadRefused) as caught:
        yield caught
    assert caught.value.status == status


def test_a_file_in_pieces_becomes_a_dataset_only_when_it_is_whole(upload: Upload, team: Team) -> None:
    send(upload, DATA[:50_000])
    assert not team_folder(team).exists()
    with refused(409) as caught:
        finish(upload, SHA256)
    assert caught.value.more == {"offset": 50_000}
    send(upload)
    dataset = finish(upload, SHA256)
    assert Path(dataset.path).read_bytes() == DATA
    assert (dataset.name, Path(dataset.path).name) == ("rows", "rows.jsonl")
    version = dataset.versions.get()
    assert (version.number, version.digest, version.size) == (1, SHA256, len(DATA))
    assert not partial(upload).exists()
    assert AuditEvent.objects.get().action == "dataset.upload"


def test_the_same_file_goes_on_where_it_was_and_another_one_does_not(upload: Upload, alice: User, team: Team) -> None:
    send(upload, DATA[:20_000])
    again, is_new = begin(user=alice, team=team, name="rows.jsonl", size=len(DATA), modified=7)
    assert (again.pk, is_new, offset(again)) == (upload.pk, False, 20_000)
    changed, is_new = begin(user=alice, team=team, name="rows.jsonl", size=len(DATA), modified=8)
    assert (changed.pk != upload.pk, is_new, offset(changed)) == (True, True, 0)


def test_another_checksum_throws_the_file_away(upload: Upload, team: Team) -> None:
    send(upload, DATA[:-1] + b"!")
    with refused(422):
        finish(upload, SHA256)
    upload.refresh_from_db()
    assert upload.state == UploadState.FAILED
    assert not partial(upload).exists()
    assert not Dataset.objects.exists()
    with refused(410):
        receive(upload, 0, b"x", hashlib.sha256(b"x").digest())


def test_a_damaged_piece_is_not_taken(upload: Upload) -> None:
    with refused(422):
        receive(upload, 0, b"abc", hashlib.sha256(b"abd").digest())
    assert offset(upload) == 0


@pytest.mark.parametrize("start", [1, 9, 20, 10**17])
def test_a_piece_from_elsewhere_is_told_the_offset(upload: Upload, start: int) -> None:
    send(upload, DATA[:10])
    with refused(409) as caught:
        receive(upload, start, b"abc", hashlib.sha256(b"abc").digest())
    assert caught.value.more == {"offset": 10}


def test_more_than_was_said_is_not_taken(upload: Upload) -> None:
    send(upload, DATA[:-1])
    with refused(413):
        receive(upload, len(DATA) - 1, b"}\n\n", hashlib.sha256(b"}\n\n").digest())
    assert offset(upload) == len(DATA) - 1


def test_two_writers_of_one_upload_never_mix(upload: Upload) -> None:
    with partial(upload).open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with refused(423):
            receive(upload, 0, b"abc", hashlib.sha256(b"abc").digest())
    send(upload)
    assert partial(upload).read_bytes() == DATA


@pytest.mark.django_db(transaction=True)
def test_many_windows_send_one_file_at_once(alice: User, team: Team, data_dir: Path) -> None:
    upload, _new = begin(user=alice, team=team, name="rows.jsonl", size=len(DATA), modified=7)

    refusals: set[int] = set()

    def window(size: int) -> int:
        try:
            while (start := offset(upload)) < len(DATA):
                piece = DATA[start : start + size]
                try:
                    receive(upload, start, piece, hashlib.sha256(piece).digest())
                except UploadRefused as other:
                    refusals.add(other.status)
            return 1
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(window, [997, 2003, 5003, 9001])) == 4
    assert refusals <= {409, 423}
    assert Path(finish(upload, SHA256).path).read_bytes() == DATA


def test_finishing_twice_is_finishing_once(upload: Upload) -> None:
    send(upload)
    assert finish(upload, SHA256) == finish(upload, SHA256)
    assert Dataset.objects.count() == 1


def test_a_crash_between_the_rename_and_the_row_is_made_good(upload: Upload, monkeypatch: pytest.MonkeyPatch) -> None:
    send(upload)

    def crash(*_: object) -> Dataset:
        raise ConnectionError("the machine has died here")

    with monkeypatch.context() as patch:
        patch.setattr("jobs.datasets.finishing._register", crash)
        with pytest.raises(ConnectionError):
            finish(upload, SHA256)
    dataset = finish(upload, SHA256)
    assert Path(dataset.path).name == "rows.jsonl"
    assert dataset.versions.get().digest == SHA256
    assert [one.name for one in team_folder(upload.team).iterdir()] == ["rows.jsonl"]


def test_a_name_that_a_crash_has_left_to_another_upload_is_not_taken_for_ours(
    upload: Upload, alice: User, team: Team
) -> None:
    send(upload)
    upload.path = str(team_folder(team) / "rows.jsonl")  # and then the server died, before the rename
    upload.save()
    other = begin(user=alice, team=team, name="rows.jsonl", size=10_000, modified=8)[0]
    send(other, DATA[:10_000])
    taken = finish(other, hashlib.sha256(DATA[:10_000]).hexdigest())
    assert taken.path == upload.path
    dataset = finish(upload, SHA256)
    assert Path(dataset.path).read_bytes() == DATA
    assert Path(taken.path).read_bytes() == DATA[:10_000]


def test_the_same_content_of_a_team_is_kept_once(upload: Upload, alice: User, team: Team) -> None:
    send(upload)
    first = finish(upload, SHA256)
    second, _new = begin(user=alice, team=team, name="other.jsonl", size=len(DATA), modified=9)
    send(second)
    assert finish(second, SHA256) == first
    assert not partial(second).exists()


def test_another_file_of_the_same_name_replaces_none(upload: Upload, alice: User, team: Team) -> None:
    send(upload)
    first = finish(upload, SHA256)
    other = DATA[:-40]
    second, _new = begin(user=alice, team=team, name="rows.jsonl", size=len(other), modified=9)
    send(second, other)
    dataset = finish(second, hashlib.sha256(other).hexdigest())
    assert (Path(first.path).name, Path(dataset.path).name) == ("rows.jsonl", "rows-2.jsonl")
    assert Path(first.path).read_bytes() == DATA


def test_a_full_disk_is_said_before_it_begins(
    alice: User, team: Team, data_dir: Path, monkeypatch: pytest.MonkeyPatch, upload: Upload
) -> None:
    class Usage:
        free = uploads.RESERVE_BYTES + len(DATA) + 999

    monkeypatch.setattr("jobs.datasets.uploads.shutil.disk_usage", lambda path: Usage)
    with refused(507):  # what the first upload has not sent yet counts, too
        begin(user=alice, team=team, name="more.jsonl", size=1000, modified=0)
    send(upload)
    begin(user=alice, team=team, name="more.jsonl", size=1000, modified=0)


def test_a_disk_that_fills_up_leaves_no_half_piece(upload: Upload, monkeypatch: pytest.MonkeyPatch) -> None:
    send(upload, DATA[:100])
    real, calls = os.pwrite, []

    def full(file: int, data: bytes, position: int) -> int:
        calls.append(position)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(file, data[:10], position)

    monkeypatch.setattr("jobs.datasets.uploads.os.pwrite", full)
    with refused(507):
        receive(upload, 100, DATA[100:200], hashlib.sha256(DATA[100:200]).digest())
    assert offset(upload) == 100


def test_limits_of_size_and_number(
    alice: User, team: Team, data_dir: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.UPLOAD_LIMIT_BYTES = 1000

    def start(size: int, number: int = 0) -> Upload:
        return begin(user=alice, team=team, name="rows.jsonl", size=size, modified=number)[0]

    for size, status in ((1001, 413), (0, 422)):
        with refused(status):
            start(size)
    for number in range(uploads.MOST_OPEN):
        last = start(1000, number)
    with refused(429):
        start(1000, 99)
    cancel(last)
    monkeypatch.setattr("jobs.datasets.uploads.MOST_A_MINUTE", uploads.MOST_OPEN)
    with refused(429):
        start(1000, 99)
    Upload.objects.update(created=timezone.now() - timedelta(minutes=2))
    start(1000, 99)


def test_abandoned_uploads_are_taken_away_and_fresh_ones_stay(upload: Upload, alice: User, team: Team) -> None:
    fresh, _new = begin(user=alice, team=team, name="fresh.jsonl", size=10, modified=0)
    for one in (upload, fresh):
        receive(one, 0, b"abc", hashlib.sha256(b"abc").digest())
    Upload.objects.filter(pk=upload.pk).update(touched=timezone.now() - ABANDONED_AFTER - timedelta(minutes=1))
    stray = incoming() / "0123456789abcdef0123456789abcdef"
    stray.write_bytes(b"nobody's")
    os.utime(stray, (0, 0))
    clean()
    upload.refresh_from_db()
    assert upload.state == UploadState.CANCELLED
    assert [one.name for one in incoming().iterdir()] == [fresh.pk.hex]


def test_a_folder_that_cannot_be_written_is_said(alice: User, team: Team, data_dir: Path) -> None:
    (data_dir / "datasets" / "uploads").write_text("a file in its place")
    clean()
    with refused(500):
        begin(user=alice, team=team, name="rows.jsonl", size=10, modified=0)


def test_a_link_in_place_of_the_partial_file_is_not_followed(upload: Upload, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    partial(upload).parent.mkdir(parents=True, exist_ok=True)
    partial(upload).symlink_to(victim)
    with refused(500):
        receive(upload, 0, b"abc", hashlib.sha256(b"abc").digest())
    assert victim.read_bytes() == b""


def test_a_link_in_place_of_the_teams_folder_is_not_followed(upload: Upload, team: Team, tmp_path: Path) -> None:
    send(upload)
    (tmp_path / "elsewhere").mkdir()
    team_folder(team).symlink_to(tmp_path / "elsewhere")
    with refused(500):
        finish(upload, SHA256)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("rows.jsonl", "rows.jsonl"),
        ("../../etc/cron.d/rows.JSON", "rows.json"),
        ("C:\\Users\\ada\\训练数据 (1).csv", "训练数据_(1).csv"),
        (".hidden.txt", "hidden.txt"),
        ("<img src=x onerror=alert(1)>.json", "img_src_x_onerror_alert(1).json"),
        ("a\nb\x00c\u202e.json", "a_b_c.json"),
        ("-rf.json", "rf.json"),
        (".json", "dataset.json"),
        ("🚂.parquet", "dataset.parquet"),
    ],
)
def test_a_name_is_made_harmless(name: str, kept: str) -> None:
    assert safe_name(name) == kept


@pytest.mark.parametrize("name", ["rows", "rows.exe", "rows.json.sh", "", "/", "rows.json/", "rows.zip"])
def test_other_endings_are_not_taken(name: str) -> None:
    assert safe_name(name) is None


def test_a_long_name_is_cut_between_characters() -> None:
    kept = safe_name("数" * 500 + ".jsonl")
    assert kept is not None
    assert len(kept.encode()) <= MOST_BYTES
    assert kept.endswith("数.jsonl")
