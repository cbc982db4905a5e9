"""A Redis-protocol server for tests, and waiting for conditions."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from redis import Redis

from webui.demo.child import die_with
from webui.demo.redis_server import answers, server_command

T = TypeVar("T")


def wait_until(condition: Callable[[], T], seconds: float = 20.0, what: str = "the condition") -> T:
    """Poll until `condition` gives something true, and return that. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come true within {seconds:.0f} s; last value: {value!r}")
        time.sleep(0.05)


class RedisServer:
    """A real server on a unix socket, which a test may kill and start again."""

    def __init__(self, socket: Path, folder: Path) -> None:
        self.url = f"unix://{socket}"
        self._socket = socket
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            server_command(self._socket, self._folder),
            stdout=subprocess.DEVNULL,
            preexec_fn=die_with(os.getpid()),
        )
        wait_until(lambda: answers(self.url), what="the Redis server")

    def hang(self) -> None:
        """From now on it takes connections and answers nobody, until it goes on or is killed."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """As kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self, *, lose_data: bool = False) -> None:
        self.kill()
        if lose_data:
            for file in self._folder.glob("appendonlydir/*"):
                file.unlink()
        self.start()

    def length(self, queue: str) -> int:
        """How many messages wait in a queue."""
        client = Redis.from_url(self.url)
        with client:
            return cast(int, client.llen(queue))

    def flush(self) -> None:
        client = Redis.from_url(self.url)
        client.flushall()
        client.close()
