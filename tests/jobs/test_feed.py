"""A feed hands out every byte of a file once and in order, with Redis, without it, and with gaps in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from redis import Redis

from jobs import feed as feeds
from jobs.announcer import stream_key
from jobs.feed import Feed, following
from tests.servers import RedisServer

LOG = "logs/train.0.log"
NOWHERE = "unix:///nonexistent/redis.sock"
SECONDS = 15


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "17" / "logs").mkdir(parents=True)
    return tmp_path / "17"


def lines(first: int, last: int) -> bytes:
    return b"".join(b"line %05d\n" % number for number in range(first, last))


def append(run: Path, data: bytes) -> int:
    with (run / LOG).open("ab") as file:
        file.write(data)
        return file.tell()


def announce(server: RedisServer, end: int, data: bytes) -> None:
    with Redis.from_url(server.url) as client:
        client.xadd(stream_key("17", LOG), {"d": data}, id=f"{end}-0")


async def read(feed: Feed, until: int, cursor: int = 0) -> bytes:
    """Everything from `cursor` up to offset `until`."""
    start, parts = cursor, []
    await feed.follow(LOG)
    async with asyncio.timeout(SECONDS):
        while cursor < until:
            news = feed.news
            frame = await feed.take(LOG, cursor)
            if frame is None:
                await news.wait()
                continue
            assert frame.piece.start == cursor
            parts.append(frame.piece.data)
            cursor = frame.end
    data = b"".join(parts)
    assert len(data) == cursor - start
    return data


async def test_what_is_there_already_is_read(run: Path, redis_server: RedisServer) -> None:
    end = append(run, lines(0, 10))
    async with following(run, redis_server.url) as feed:
        assert await read(feed, end) == lines(0, 10)


async def test_a_piece_that_redis_announces_comes_at_once(
    run: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "LOOK_SECONDS", 3600.0)  # so that only Redis can have told
    start = append(run, lines(0, 10))
    async with following(run, redis_server.url) as feed:
        await read(feed, start)
        end = append(run, lines(10, 12))
        announce(redis_server, end, lines(10, 12))
        assert await read(feed, end, start) == lines(10, 12)


@pytest.mark.parametrize("beyond", [len(b"old 00010\n"), 100_000])
async def test_entries_of_an_older_run_are_not_this_files(
    run: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, beyond: int
) -> None:
    """Neither while they lie beyond its end nor when it has grown over them; and they do not keep the feed busy."""
    taken: list[str] = []
    take = Feed._take_entries
    monkeypatch.setattr(Feed, "_take_entries", lambda self, name, *rest: (taken.append(name), take(self, name, *rest)))
    end = append(run, lines(0, 10))
    announce(redis_server, end + beyond, b"old 00010\n")
    async with following(run, redis_server.url) as feed:
        assert await read(feed, end) == lines(0, 10)
        rest = asyncio.create_task(read(feed, end + len(lines(10, 12)), end))
        await asyncio.sleep(1.5)  # time in which a busy feed would take it thousands of times
        assert not rest.done()
        assert 1 <= len(taken) <= 10
        append(run, lines(10, 12))
        assert await rest == lines(10, 12)


async def test_a_hole_in_the_stream_is_filled_from_the_file(
    run: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "LOOK_SECONDS", 3600.0)
    start = append(run, lines(0, 10))
    async with following(run, redis_server.url) as feed:
        await read(feed, start)
        append(run, lines(10, 5000))  # never announced
        end = append(run, lines(5000, 5003))
        announce(redis_server, end, lines(5000, 5003))
        assert await read(feed, end, start) == lines(10, 5003)


async def test_pieces_that_overlap_come_once(run: Path, redis_server: RedisServer) -> None:
    async with following(run, redis_server.url) as feed:
        middle = append(run, lines(0, 3))
        assert await read(feed, middle) == lines(0, 3)  # by looking at the file
        end = append(run, lines(3, 6))
        announce(redis_server, end, lines(2, 6))  # begins before what is known
        assert await read(feed, end, middle) == lines(3, 6)


async def test_what_has_left_the_ring_is_read_from_the_file(
    run: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "RING_BYTES", 500)
    async with following(run, redis_server.url) as feed:
        await feed.follow(LOG)
        end = 0
        for number in range(0, 400, 10):
            end = append(run, lines(number, number + 10))
            announce(redis_server, end, lines(number, number + 10))
        assert await read(feed, end) == lines(0, 400)
        assert await read(feed, end) == lines(0, 400)  # a second reader, far behind
        assert feed._ring_bytes <= 500


async def test_without_redis_the_files_are_enough(run: Path) -> None:
    async with following(run, NOWHERE) as feed:
        await feed.follow(LOG)  # before the file is there
        middle = append(run, lines(0, 5))
        assert await read(feed, middle) == lines(0, 5)
        end = append(run, lines(5, 50_000))  # more than is looked at in one go
        assert await read(feed, end, middle) == lines(5, 50_000)


async def test_a_line_longer_than_a_piece_comes_whole_in_parts(run: Path) -> None:
    text = ("车" * 300_000 + "\nshort\n").encode()
    async with following(run, NOWHERE) as feed:
        await feed.follow(LOG)
        end = append(run, text)
        assert await read(feed, end) == text


async def test_readers_share_one_feed_and_its_frames(run: Path, redis_server: RedisServer) -> None:
    async with following(run, redis_server.url) as one, following(run, redis_server.url) as other:
        assert one is other
        await one.follow(LOG)
        end = append(run, lines(0, 3))
        announce(redis_server, end, lines(0, 3))
        await read(one, end)
        assert await one.take(LOG, 0) is await other.take(LOG, 0)


async def test_a_feed_ends_with_its_last_reader(run: Path, redis_server: RedisServer) -> None:
    async with following(run, redis_server.url) as feed:
        async with following(run, redis_server.url):
            pass
        assert feed._work is not None
        assert not feed._work.done()
    assert feed._work.done()
    async with following(run, redis_server.url) as another:
        assert another is not feed


async def test_only_followed_files_can_be_asked_for(run: Path) -> None:
    async with following(run, NOWHERE) as feed:
        with pytest.raises(ValueError, match=r"spec\.json"):
            await feed.follow("spec.json")


async def test_a_feed_ends_at_whatever_moment_it_is_stopped(run: Path, redis_server: RedisServer) -> None:
    """The Redis client swallows some cancellations; each of these stops meets it in another state."""
    append(run, lines(0, 1))
    for number in range(60):
        async with asyncio.timeout(SECONDS), following(run, redis_server.url) as feed:
            await feed.follow(LOG)
            await asyncio.sleep(number % 20 / 4000)
