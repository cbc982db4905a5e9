"""Every byte of a log reaches the browser once and in order, whatever happens to Redis and to connections."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from engine.run_folder import RunFolder
from jobs.announcer import Announcer
from jobs.models import Membership, Run
from tests.jobs.rows import queued_run
from tests.jobs.sockets import Reader, socket
from tests.servers import RedisServer

pytestmark = pytest.mark.django_db(transaction=True)
LOG = "logs/train.0.log"
LINES = 6000
READERS = 6
TEXT = b"".join(b"%06d %s\n" % (number, "车".encode() * (number % 40)) for number in range(LINES))


@pytest.fixture
def run(data_dir: Path, redis_server: RedisServer, transactional_db: None) -> Run:
    run = queued_run()
    run.folder.create()
    run.folder.log("train").touch()
    Membership.objects.create(team=run.job.team, user=User.objects.get(username="alice"))
    return run


@contextmanager
def writer(folder: RunFolder, url: str) -> Iterator[None]:
    """Appends numbered lines, in writes that end anywhere, and announces them as the supervisor does."""
    chance = random.Random(5)

    def work() -> None:
        announcer = Announcer(folder, url)
        place = 0
        with folder.log("train").open("ab", buffering=0) as file:
            while place < len(TEXT):
                size = chance.randrange(1, 3000)
                file.write(TEXT[place : place + size])
                place += size
                announcer.on_change(folder.log("train"))
                time.sleep(0.008)  # the pace of a training, not a synchronisation
        announcer.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


async def read_with_reconnects(run: Run, user: User, chance: random.Random) -> Reader:
    """Read to the end of the text, with a new connection after every few messages."""
    reader = Reader(**{LOG: 0})
    while reader.cursors[LOG] < len(TEXT):
        async with socket(f"/ws/runs/{run.pk}/", user) as page:
            await reader.ask(page)
            for _ in range(chance.randrange(1, 40)):
                if reader.cursors[LOG] < len(TEXT):
                    await reader.take_one(page)
    return reader


async def test_every_byte_comes_once_while_redis_dies_and_readers_reconnect(
    run: Run, redis_server: RedisServer
) -> None:
    user = await User.objects.aget(username="alice")
    with writer(run.folder, redis_server.url):
        reads = [
            asyncio.create_task(read_with_reconnects(run, user, random.Random(number))) for number in range(READERS)
        ]
        size = run.folder.log("train").stat
        async with asyncio.timeout(60):
            while size().st_size < 60_000:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(redis_server.kill)
            while size().st_size < 150_000:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(redis_server.restart, lose_data=True)
            readers = await asyncio.gather(*reads)
    assert run.folder.log("train").read_bytes() == TEXT
    assert [bytes(reader.data[LOG]) == TEXT for reader in readers] == [True] * READERS
