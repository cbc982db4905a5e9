"""Logs, events and series over HTTP: whole lines by byte offset, for the team alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpResponse, StreamingHttpResponse
from django.test import AsyncClient, Client

from engine.events import Event
from jobs.models import Job, Run
from jobs.run_files import PIECE

AsUser = Callable[[User], Client]
LINES = [f"line {number}\n" for number in range(1000)]
TEXT = "".join(LINES)


@pytest.fixture
def run(make_job: Callable[..., Job], alice: User) -> Run:
    run = make_job(alice).last_run
    assert run is not None
    run.folder.create()
    run.folder.log("train").write_text(TEXT)
    return run


@pytest.fixture
def read(as_user: AsUser, alice: User, run: Run) -> Callable[[str], HttpResponse]:
    client = as_user(alice)
    return lambda query: client.get(f"/runs/{run.pk}/files/logs/train.0.log?{query}")


def offsets(response: HttpResponse) -> tuple[int, int]:
    return int(response.headers["X-Start-Offset"]), int(response.headers["X-End-Offset"])


def test_a_file_is_read_from_an_offset(read: Callable[[str], HttpResponse]) -> None:
    response = read("since=7")
    assert response.content.decode() == TEXT[7:]
    assert offsets(response) == (7, len(TEXT))
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("since", [len(TEXT) + 1, 99999999999999999, 2**63, 10**30])
def test_beyond_the_end_there_is_nothing(read: Callable[[str], HttpResponse], since: int) -> None:
    response = read(f"since={since}")
    assert (response.status_code, response.content) == (200, b"")
    assert offsets(response) == (since, since)


def test_the_last_bytes_begin_with_a_whole_line(read: Callable[[str], HttpResponse]) -> None:
    response = read("since=-25")
    assert response.content.decode() == "".join(LINES[-2:])
    assert offsets(response) == (len(TEXT) - 18, len(TEXT))


def test_earlier_bytes_end_where_the_later_ones_began(read: Callable[[str], HttpResponse]) -> None:
    start, _ = offsets(read("since=-100"))
    response = read(f"before={start}&limit=50")
    assert offsets(response)[1] == start
    assert TEXT[:start].endswith(response.content.decode())
    assert response.content.decode().startswith("line ")


def test_pieces_join_to_the_file(read: Callable[[str], HttpResponse], run: Run) -> None:
    content = "".join(f"{number:09}\n" for number in range(3 * PIECE // 10))
    run.folder.log("train").write_text(content)
    parts, cursor = [], 0
    while cursor < len(content):
        response = read(f"since={cursor}")
        parts.append(response.content.decode())
        start, end = offsets(response)
        assert start == cursor < end
        cursor = end
    assert "".join(parts) == content
    assert len(parts) > 2


@pytest.mark.parametrize("query", ["since=x", "since=", "limit=x", "limit=-5", "before=x"])
def test_a_wrong_number_is_taken_as_not_given(read: Callable[[str], HttpResponse], query: str) -> None:
    assert read(query).content.decode() == TEXT


@pytest.mark.parametrize(
    "name", ["spec.json", "logs/none.0.log", "../../trainyard.sqlite3", "logs/..%2fspec.json", "logs/%2e%2e/spec.json"]
)
def test_no_other_file_is_found(as_user: AsUser, alice: User, run: Run, name: str) -> None:
    run.folder.spec.write_text("{}")
    assert as_user(alice).get(f"/runs/{run.pk}/files/{name}").status_code == 404
    assert as_user(alice).get(f"/runs/{run.pk}/files/{name}?download=1").status_code == 404


@pytest.mark.parametrize("path", ["files/logs/train.0.log", "files/logs/train.0.log?download=1", "series/lm_loss/"])
def test_the_team_alone_may_read(as_user: AsUser, bob: User, charlie: User, run: Run, path: str) -> None:
    assert as_user(bob).get(f"/runs/{run.pk}/{path}").status_code == 200
    assert as_user(charlie).get(f"/runs/{run.pk}/{path}").status_code == 404
    assert Client().get(f"/runs/{run.pk}/{path}").status_code == 404
    assert as_user(bob).get(f"/runs/999999/{path}").status_code == 404


@pytest.mark.django_db(transaction=True)
async def test_a_download_is_the_whole_file_in_pieces(alice: User, run: Run) -> None:
    content = "x" * 99 + "\n"
    run.folder.log("train").write_text(content * 10_000)
    client = AsyncClient()
    await sync_to_async(client.force_login)(alice, backend="django.contrib.auth.backends.ModelBackend")
    response = await client.get(f"/runs/{run.pk}/files/logs/train.0.log?download=1")
    assert isinstance(response, StreamingHttpResponse)
    assert f'filename="run-{run.pk}-train.0.log"' in response.headers["Content-Disposition"]
    parts = [part async for part in response]
    assert b"".join(parts).decode() == content * 10_000
    assert max(map(len, parts)) <= PIECE


def test_a_series_is_given_in_points(as_user: AsUser, alice: User, run: Run) -> None:
    events = [
        Event(seq=n, time=0, stage="train", kind="metric", data={"iteration": n, "lm_loss": float(n)})
        for n in range(1, 101)
    ]
    run.folder.events.write_bytes(b"".join(event.line() for event in events))
    client = as_user(alice)
    whole = client.get(f"/runs/{run.pk}/series/lm_loss/?points=10").json()
    assert whole["iteration"] == list(range(1, 101, 10))
    assert whole["max"][-1] == 100.0
    part = client.get(f"/runs/{run.pk}/series/lm_loss/?first=20&last=22").json()
    assert part["min"] == [20.0, 21.0, 22.0]
    assert client.get(f"/runs/{run.pk}/series/iteration/").status_code == 404
