"""One `Feed` for each followed run in a server process; any number of readers, each with its own cursor.

The file is the truth. Redis streams only say sooner what has been appended: the id of an entry is the
byte offset of its end in the file. So a cursor outlives Redis; what a stream lacks (a hole, or more
than the ring holds) is read from the file, and without Redis the feed looks at the files' sizes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import orjson
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from jobs.announcer import stream_key
from jobs.run_files import PIECE, Piece, cut_piece, is_followed, line_end, open_followed

log = logging.getLogger(__name__)
RING_BYTES = 4 * 1024 * 1024
BLOCK_MS = 250
LOOK_SECONDS = 1.0
"""How long a file may be silent before the feed looks at its size."""
LOOK_SECONDS_WITHOUT_REDIS = 0.25
STREAM_COUNT = 64
SOCKET_SECONDS = 2.0
"""How long a Redis that hangs may keep the feed from looking at the files."""


class Frame:
    """A piece of a file as the message that readers get; spelled once for all of them."""

    __slots__ = ("_text", "name", "piece")

    def __init__(self, name: str, piece: Piece) -> None:
        self.name = name
        self.piece = piece
        self._text: str | None = None

    @property
    def end(self) -> int:
        return self.piece.end

    @property
    def text(self) -> str:
        if self._text is None:
            message = {"file": self.name, "start": self.piece.start, "end": self.end}
            message["text"] = self.piece.data.decode("utf-8", "replace")
            self._text = orjson.dumps(message).decode()
        return self._text

    def after(self, cursor: int) -> Frame:
        if cursor == self.piece.start:
            return self
        return Frame(self.name, Piece(cursor, self.piece.data[cursor - self.piece.start :]))


class Track:
    """What a feed knows of one file: how far it may be read, and the latest pieces."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.head = 0
        self.frames: list[Frame] = []
        self.looked = 0.0
        """When we last heard of the file or looked at it (monotonic seconds)."""
        self.disbelieved = 0
        """Entries of the stream up to this id are not what the file holds there, and are passed over for now."""

    def add(self, piece: Piece) -> Frame | None:
        """Keep what is new in a piece; there may be a hole before it."""
        if piece.end <= self.head:
            return None
        frame = Frame(self.name, piece).after(max(self.head, piece.start))
        self.head = frame.end
        self.frames.append(frame)
        return frame

    def find(self, cursor: int) -> tuple[Frame | None, int]:
        """The frame that holds `cursor`, or None and the offset up to which the file must be read."""
        place = bisect_right(self.frames, cursor, key=lambda frame: frame.end)
        if place == len(self.frames):
            return None, self.head
        frame = self.frames[place]
        return (frame, frame.end) if frame.piece.start <= cursor else (None, frame.piece.start)


class Feed:
    """The news of one run. Readers: `follow` names, then `take` from a cursor, and wait on `news`."""

    def __init__(self, folder: Path, redis_url: str) -> None:
        self.folder = folder
        self.readers = 0
        self.news = asyncio.Event()
        """Set, and replaced by a new one, at each piece of news: take it before looking for pieces."""
        self._tracks: dict[str, Track] = {}
        self._ring: deque[Track] = deque()
        self._ring_bytes = 0
        self._redis_url = redis_url
        self._redis_works = True
        self._work: asyncio.Task[None] | None = None
        self._ends = False

    def start(self) -> None:
        self._work = asyncio.create_task(self._run(), name=f"feed {self.folder.name}")

    async def stop(self) -> None:
        self._ends = True  # the Redis client now and then swallows a cancellation
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work

    async def follow(self, name: str) -> None:
        """Begin to follow a file, which need not exist yet. Raises ValueError for a name that may not be read."""
        if not is_followed(name):
            raise ValueError(name)
        if name not in self._tracks:
            track = self._tracks[name] = Track(name)
            await self._look(track)

    async def take(self, name: str, cursor: int) -> Frame | None:
        """The next frame from `cursor`; None when there is nothing new."""
        track = self._tracks[name]
        if cursor >= track.head:
            return None
        frame, until = track.find(cursor)
        if frame is not None:
            return frame.after(cursor)
        piece = await asyncio.to_thread(self._read, name, cursor, until)
        return Frame(name, piece) if piece.data else None

    def _read(self, name: str, cursor: int, until: int) -> Piece:
        """The bytes before `until`, which is a place where the file may be cut, or the first lines of them."""
        try:
            with open_followed(self.folder, name) as file:
                file.seek(cursor)
                data = file.read(min(until - cursor, PIECE))
        except FileNotFoundError:
            return Piece(cursor, b"")
        return Piece(cursor, data if cursor + len(data) == until else data[: cut_piece(data)])

    async def _run(self) -> None:
        redis = Redis.from_url(
            self._redis_url, socket_connect_timeout=1, socket_timeout=SOCKET_SECONDS, retry=Retry(NoBackoff(), 0)
        )
        try:
            while not self._ends:
                await self._listen(redis)
                await self._look_at_silent_files()
        finally:
            await redis.aclose()

    async def _listen(self, redis: Redis) -> None:
        """Wait a moment for entries of the streams and take them in."""
        heads: dict[Any, Any] = {
            stream_key(self.folder.name, track.name): f"{max(track.head, track.disbelieved)}-0"
            for track in self._tracks.values()
        }
        if not heads:
            await asyncio.sleep(BLOCK_MS / 1000)
            return
        try:
            answer = await redis.xread(heads, count=STREAM_COUNT, block=BLOCK_MS)
        except (RedisError, OSError) as error:
            if self._redis_works:
                log.warning("run %s is followed by its files alone: %s", self.folder.name, error)
            self._redis_works = False
            await asyncio.sleep(LOOK_SECONDS_WITHOUT_REDIS)
            return
        self._redis_works = True
        for key, entries in answer:
            name = key.decode().split(":", 3)[3]
            self._take_entries(name, *await asyncio.to_thread(self._of_the_file, name, entries))

    def _take_entries(self, name: str, found: list[Piece], disbelieved: int) -> None:
        track = self._tracks[name]
        track.disbelieved = disbelieved
        for piece in found:
            self._keep(track, piece)

    def _of_the_file(self, name: str, entries: list[tuple[bytes, dict[bytes, bytes]]]) -> tuple[list[Piece], int]:
        """The entries that are what the file holds in their place, and the last id of the others, else 0.

        Redis may be older than the database and hold the stream of an earlier run of the same number.
        """
        found, disbelieved = [], 0
        with suppress(FileNotFoundError), open_followed(self.folder, name) as file:
            size = os.fstat(file.fileno()).st_size
            for identity, fields in entries:
                data, end = fields.get(b"d", b""), _end_of(identity)
                start = end - len(data)
                if start >= 0 and end <= size and os.pread(file.fileno(), len(data), start) == data:
                    found.append(Piece(start, data))
                else:
                    disbelieved = end
            return found, disbelieved
        return [], _end_of(entries[-1][0])

    async def _look_at_silent_files(self) -> None:
        patience = LOOK_SECONDS if self._redis_works else LOOK_SECONDS_WITHOUT_REDIS
        for track in list(self._tracks.values()):
            if time.monotonic() - track.looked >= patience:
                await self._look(track)

    async def _look(self, track: Track) -> None:
        track.looked = time.monotonic()
        track.disbelieved = 0
        head = track.head
        piece, end = await asyncio.to_thread(self._grown, track.name, head)
        if track.head != head:
            return  # Redis was faster
        if piece is not None:
            self._keep(track, piece)
        elif end > head:
            track.head = end
            self._tell()

    def _grown(self, name: str, head: int) -> tuple[Piece | None, int]:
        """What a file has beyond `head`, if it is little, and where it ends."""
        try:
            with open_followed(self.folder, name) as file:
                end = line_end(file, head)
                if not head < end <= head + PIECE:
                    return None, end
                file.seek(head)
                return Piece(head, file.read(end - head)), end
        except FileNotFoundError:
            return None, head

    def _keep(self, track: Track, piece: Piece) -> None:
        frame = track.add(piece)
        if frame is None:
            return
        track.looked = time.monotonic()
        self._ring.append(track)
        self._ring_bytes += len(frame.piece.data)
        while self._ring_bytes > RING_BYTES:
            self._ring_bytes -= len(self._ring.popleft().frames.pop(0).piece.data)
        self._tell()

    def _tell(self) -> None:
        self.news.set()
        self.news = asyncio.Event()


def _end_of(identity: bytes) -> int:
    return int(identity.split(b"-")[0])


_feeds: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Path, Feed]] = WeakKeyDictionary()


@asynccontextmanager
async def following(folder: Path, redis_url: str) -> AsyncIterator[Feed]:
    """The feed of a run, shared by everyone in this process; it ends with its last reader."""
    feeds = _feeds.setdefault(asyncio.get_running_loop(), {})
    feed = feeds.get(folder)
    if feed is None:
        feed = feeds[folder] = Feed(folder, redis_url)
        feed.start()
    feed.readers += 1
    try:
        yield feed
    finally:
        feed.readers -= 1
        if feed.readers == 0:
            del feeds[folder]
            await feed.stop()
