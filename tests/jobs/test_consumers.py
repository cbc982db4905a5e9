"""The run's WebSocket: who may listen, what may be asked for, and what comes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from jobs.announce import run_changed
from jobs.consumers import RunConsumer
from jobs.models import Membership, Run, Team
from jobs.run_files import PIECE
from tests.jobs.rows import queued_run, user_of
from tests.jobs.sockets import Reader, cookie_of, socket
from tests.servers import RedisServer
from webui.asgi import application

pytestmark = pytest.mark.django_db(transaction=True)
LOG = "logs/train.0.log"
EVENTS = "events.jsonl"


@pytest.fixture
def run(data_dir: Path, redis_server: RedisServer, transactional_db: None) -> Run:
    run = queued_run()
    run.folder.create()
    return run


@pytest.fixture
def alice(run: Run) -> User:
    alice = User.objects.get(username="alice")
    Membership.objects.get_or_create(team=run.job.team, user=alice)
    return alice


@pytest.fixture
def mallory(run: Run) -> User:
    return user_of(Team.objects.create(name="beta"), "mallory")


def append(run: Run, name: str, text: str) -> int:
    with (run.folder.path / name).open("ab") as file:
        file.write(text.encode())
        return file.tell()


async def test_the_team_reads_files_from_the_offsets_it_names(run: Run, alice: User) -> None:
    append(run, EVENTS, '{"seq": 1}\n')
    end = append(run, LOG, "one\ntwo 车\n")
    async with socket(f"/ws/runs/{run.pk}/", alice) as page:
        reader = Reader(**{LOG: 4, EVENTS: 0})
        await reader.ask(page)
        assert await reader.read(page, LOG, end) == "two 车\n".encode()
        assert await reader.read(page, EVENTS, 11) == b'{"seq": 1}\n'
        end = append(run, LOG, "three\n")
        assert await reader.read(page, LOG, end) == "two 车\nthree\n".encode()


async def test_a_file_that_does_not_exist_yet_is_waited_for(run: Run, alice: User) -> None:
    async with socket(f"/ws/runs/{run.pk}/", alice) as page:
        reader = Reader(**{LOG: 0})
        await reader.ask(page)
        end = append(run, LOG, "one\n")
        assert await reader.read(page, LOG, end) == b"one\n"


async def test_a_file_can_be_let_go(run: Run, alice: User) -> None:
    append(run, LOG, "one\n")
    async with socket(f"/ws/runs/{run.pk}/", alice) as page:
        reader = Reader(**{LOG: 0, EVENTS: 0})
        await reader.ask(page)
        await reader.read(page, LOG, 4)
        await page.tell(json.dumps({"unfollow": [LOG]}))
        append(run, LOG, "two\n")
        end = append(run, EVENTS, '{"seq": 1}\n')
        await reader.read(page, EVENTS, end)
        assert bytes(reader.data[LOG]) == b"one\n"
        assert await page.receive_nothing(timeout=1.5)


@pytest.mark.parametrize("who", ["stranger", "another team", "no such run"])
async def test_those_who_may_not_look_are_closed_alike(run: Run, alice: User, mallory: User, who: str) -> None:
    user = {"stranger": None, "another team": mallory, "no such run": alice}[who]
    run_id = 999_999 if who == "no such run" else run.pk
    async with socket(f"/ws/runs/{run_id}/", user) as page:
        assert await page.close_code() == 4404


async def test_a_page_of_another_site_is_not_let_in(run: Run, alice: User) -> None:
    async with socket(f"/ws/runs/{run.pk}/", alice, origin=b"http://evil.example") as page:
        assert not page.connected


@pytest.mark.parametrize(
    "origin", [b"http://localhost:9", b"https://localhost:80", b"null", b"http://localhost:x", b""]
)
async def test_a_page_of_another_port_is_not_let_in(run: Run, alice: User, origin: bytes) -> None:
    async with socket(f"/ws/runs/{run.pk}/", alice, origin=origin) as page:
        assert not page.connected


@pytest.mark.parametrize("path", ["/ws/nope/", "/ws/runs/abc/", "/ws/runs/1", "/"])
async def test_at_other_addresses_there_is_nothing(run: Run, alice: User, path: str) -> None:
    async with socket(path, alice) as page:
        assert await page.close_code() == 4404


@pytest.mark.parametrize("loss", ["membership", "session", "account"])
async def test_a_lost_right_closes_an_open_socket(
    run: Run, alice: User, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    monkeypatch.setattr(RunConsumer, "check_seconds", 0.2)
    append(run, LOG, "one\n")
    async with socket(f"/ws/runs/{run.pk}/", alice) as page:
        reader = Reader(**{LOG: 0})
        await reader.ask(page)
        await reader.read(page, LOG, 4)
        await sync_to_async(take_away)(alice, loss)
        assert await page.close_code() == 4404


def take_away(user: User, what: str) -> None:
    from django.contrib.sessions.models import Session

    if what == "membership":
        Membership.objects.filter(user=user).delete()
    elif what == "session":
        Session.objects.all().delete()
    else:
        User.objects.filter(pk=user.pk).update(is_active=False)


@pytest.mark.parametrize(
    "message",
    [
        "not json",
        "[]",
        '{"follow": []}',
        '{"follow": {"spec.json": 0}}',
        '{"follow": {"../2/events.jsonl": 0}}',
        '{"follow": {"logs/../spec.json": 0}}',
        '{"follow": {"events.jsonl": -1}}',
        '{"follow": {"events.jsonl": "0"}}',
        '{"follow": {"events.jsonl": true}}',
        json.dumps({"follow": {f"logs/{number}.0.log": 0 for number in range(65)}}),
    ],
)
async def test_a_wrong_message_closes_the_socket(run: Run, alice: User, message: str) -> None:
    async with socket(f"/ws/runs/{run.pk}/", alice) as page:
        await page.tell(message)
        assert await page.close_code() == 4400


async def test_a_slow_reader_holds_nothing_in_memory(run: Run, alice: User) -> None:
    """While one message waits for its reader, no other one is made; and in the end everything is there."""
    content = "x" * 99 + "\n"
    end = append(run, LOG, content * 50_000)
    slow = SlowBrowser(await cookie_of(alice), f"/ws/runs/{run.pk}/", {LOG: 0})
    work = asyncio.create_task(application(slow.scope, slow.receive, slow.send))
    try:
        async with asyncio.timeout(20):
            await slow.stuck.wait()
            append(run, EVENTS, '{"seq": 1}\n')
            await asyncio.sleep(0.3)  # time in which an impatient server would go on
            assert len(slow.texts) == 1
            slow.let_go.set()
            while sum(map(len, slow.texts)) < end:
                await asyncio.sleep(0.01)
        assert "".join(slow.texts) == content * 50_000
        assert max(map(len, slow.texts)) <= PIECE
    finally:
        await slow.leave()
        await work


class SlowBrowser:
    """A browser that takes one message and then, until it is let go, no more."""

    def __init__(self, cookie: bytes, path: str, follow: dict[str, int]) -> None:
        self.scope: dict[str, Any] = {
            "type": "websocket",
            "path": path,
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"origin", b"http://localhost"), (b"cookie", cookie)],
            "subprotocols": [],
        }
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.incoming.put_nowait({"type": "websocket.connect"})
        self.incoming.put_nowait({"type": "websocket.receive", "text": json.dumps({"follow": follow})})
        self.texts: list[str] = []
        self.stuck, self.let_go = asyncio.Event(), asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        return await self.incoming.get()

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            self.texts.append(json.loads(message["text"])["text"])
            self.stuck.set()
            await self.let_go.wait()

    async def leave(self) -> None:
        self.let_go.set()
        await self.incoming.put({"type": "websocket.disconnect", "code": 1000})


async def test_the_history_hears_of_the_runs_of_its_teams(run: Run, alice: User, mallory: User) -> None:
    async with socket("/ws/jobs/", alice) as page, socket("/ws/jobs/", mallory) as other:
        await sync_to_async(run_changed)(run.pk)
        assert await page.hear() == {"run_id": run.pk}
        assert await other.receive_nothing(timeout=0.5)


async def test_the_history_of_a_stranger_is_closed(run: Run) -> None:
    async with socket("/ws/jobs/", None) as page:
        assert await page.close_code() == 4401
