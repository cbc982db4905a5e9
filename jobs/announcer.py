"""Announces what grows in a run folder to Redis, so that pages need not ask. The files stay the truth.

Stream `trainyard:stream:<run id>:<file name>`, id `<end offset>-0`, field `d` = whole lines. Ids are
byte offsets in the file, so a reader sees a hole and fills it from the file; losing Redis, its data
or this process costs promptness only. Nothing here raises.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from engine.run_folder import RunFolder

CHUNK_BYTES = 64 * 1024
STREAM_LENGTH = 200
BACKLOG_BYTES = 1 << 20
"""More than this is not worth announcing after an outage; readers take it from the file."""
SOCKET_SECONDS = 0.5
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 5.0
EXPIRE_AFTER_END_SECONDS = 3600
EXPIRE_WHILE_RUNNING_SECONDS = 7 * 24 * 3600


def stream_key(run_id: str, file_name: str) -> str:
    """Key of the stream of one file; `file_name` is relative to the run folder."""
    return f"trainyard:stream:{run_id}:{file_name}"


class Announcer:
    def __init__(self, folder: RunFolder, url: str | None) -> None:
        self._folder = folder
        self._redis = None if not url else _connection(url)
        self._offsets: dict[Path, int] = {}
        self._waiting: set[Path] = set()
        self._pause = FIRST_PAUSE_SECONDS
        self._not_before = 0.0
        self._begins = not folder.events.exists()
        """Nothing of this run has been announced yet: what Redis has under its name is another run's."""

    def on_change(self, path: Path) -> None:
        """Announce the new whole lines of a file, and what an outage has held up."""
        self._waiting.add(path)
        self._announce_waiting(final=False)

    def close(self) -> None:
        """Announce what is left, a last half line included, and let the streams expire."""
        self._waiting = {self._folder.events, *self._folder.logs.glob("*.log")}
        self._announce_waiting(final=True)

    def _announce_waiting(self, final: bool) -> None:
        if self._redis is None or (not final and time.monotonic() < self._not_before):
            return
        try:
            if self._begins:
                self._forget_another_run(self._redis)
                self._begins = False
            for path in sorted(self._waiting):
                self._announce(self._redis, path, final)
                self._waiting.discard(path)
            self._pause = FIRST_PAUSE_SECONDS
        except (redis.RedisError, OSError):
            self._not_before = time.monotonic() + self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)

    def _announce(self, connection: redis.Redis, path: Path, final: bool) -> None:
        key = stream_key(self._folder.path.name, path.relative_to(self._folder.path).as_posix())
        if path not in self._offsets:
            self._offsets[path] = _last_announced(connection, key, path)
        self._skip_backlog(path)
        for piece in pieces(path, self._offsets[path], final):
            end = self._offsets[path] + len(piece)
            _add(connection, key, end, piece)
            self._offsets[path] = end
        connection.expire(key, EXPIRE_AFTER_END_SECONDS if final else EXPIRE_WHILE_RUNNING_SECONDS)

    def _forget_another_run(self, connection: redis.Redis) -> None:
        """Run numbers begin anew with a new database; Redis may be older than that."""
        for key in connection.scan_iter(stream_key(self._folder.path.name, "*"), count=1000):
            connection.delete(key)

    def _skip_backlog(self, path: Path) -> None:
        start = path.stat().st_size - BACKLOG_BYTES
        if self._offsets[path] < start:
            self._offsets[path] = _next_line(path, start)


def pieces(path: Path, offset: int, final: bool) -> list[bytes]:
    """What can be announced from `offset` on, in pieces of at most CHUNK_BYTES.

    A piece ends at a line's end; a line longer than a piece is cut at a carriage return, else between
    two characters. `final` takes the last half line too.
    """
    found = []
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(2 * BACKLOG_BYTES)
    while data:
        length = _piece_length(data, final)
        if length == 0:
            break
        found.append(data[:length])
        data = data[length:]
    return found


def _piece_length(data: bytes, final: bool) -> int:
    window = data[:CHUNK_BYTES]
    if (newline := window.rfind(b"\n")) >= 0:
        return newline + 1
    if len(data) <= CHUNK_BYTES:
        return len(data) if final else 0
    if (carriage_return := window.rfind(b"\r")) >= 0:
        return carriage_return + 1
    return _last_character_start(data)


def _last_character_start(data: bytes) -> int:
    """Where the character that holds byte CHUNK_BYTES begins: UTF-8 continues with bytes 10xxxxxx, at most three."""
    for cut in range(CHUNK_BYTES, CHUNK_BYTES - 4, -1):
        if data[cut] & 0xC0 != 0x80:
            return cut
    return CHUNK_BYTES


def _next_line(path: Path, start: int) -> int:
    with path.open("rb") as file:
        file.seek(start)
        return start + len(file.readline())


def _connection(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=SOCKET_SECONDS,
        socket_connect_timeout=SOCKET_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def _last_announced(connection: redis.Redis, key: str, path: Path) -> int:
    """Where an earlier announcer stopped; 0 when Redis knows of none, or of one that announced another file."""
    last = cast(list[tuple[bytes, object]], connection.xrevrange(key, count=1))
    end = int(last[0][0].split(b"-")[0]) if last else 0
    if end <= path.stat().st_size:
        return end
    connection.delete(key)
    return 0


def _add(connection: redis.Redis, key: str, end: int, piece: bytes) -> None:
    try:
        connection.xadd(key, {"d": piece}, id=f"{end}-0", maxlen=STREAM_LENGTH, approximate=True)
    except redis.ResponseError as error:
        if "equal or smaller" not in str(error):
            raise
