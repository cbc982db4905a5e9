"""What `manage.py demo` puts into the environment before Django reads its settings.

Values that are set already are kept. The children inherit all of it.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import secrets
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OWN_REDIS = "TRAINYARD_DEMO_REDIS_SOCKET"
"""Socket of the Redis server that we start ourselves; not set when the site brings its own `REDIS_URL`."""
SOCKET_LIMIT = 107
"""Bytes that the kernel takes for the path of a unix socket."""


def prepare(arguments: Sequence[str]) -> None:
    """Fill in everything that settings need to serve from this checkout."""
    logging.disable(logging.INFO)  # this process only: what is said here is said by webui.demo.console
    run_dir = private_folder(data_dir() / "run")
    os.environ.setdefault("TRAINYARD_DATA_DIR", str(data_dir()))
    if not os.environ.get("TRAINYARD_SECRET_KEY"):
        os.environ["TRAINYARD_SECRET_KEY"] = kept_secret(run_dir / "secret_key")
    if not os.environ.get("REDIS_URL"):
        path = redis_socket(run_dir)
        os.environ["REDIS_URL"] = f"unix://{path}"
        os.environ[OWN_REDIS] = str(path)
    host = bind_host(arguments)
    if host not in ("127.0.0.1", "localhost"):
        os.environ.setdefault("TRAINYARD_ALLOWED_HOSTS", ",".join(sorted(own_names(host))))


def data_dir() -> Path:
    return Path(os.environ.get("TRAINYARD_DATA_DIR", ROOT / "var")).resolve()


def private_folder(path: Path) -> Path:
    """A folder that only we can enter. Raises PermissionError when it belongs to someone else."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.stat().st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to someone else")
    path.chmod(0o700)
    return path


def kept_secret(path: Path) -> str:
    """A random secret, made once and kept where only we can read it."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(48))
    return path.read_text(encoding="utf-8").strip()


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else can read at any moment; whole or absent."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)


def redis_socket(run_dir: Path) -> Path:
    """Where the server listens: beside the data, or in a short private folder when that path is too long."""
    path = run_dir / "redis.sock"
    if len(os.fsencode(path)) <= SOCKET_LIMIT:
        return path
    mark = hashlib.sha256(os.fsencode(run_dir)).hexdigest()[:12]
    return private_folder(Path(tempfile.gettempdir()) / f"trainyard-{os.getuid()}-{mark}") / "redis.sock"


def bind_host(arguments: Sequence[str]) -> str:
    """The value of --host among the command's arguments."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--host", default="127.0.0.1")
    return str(parser.parse_known_args(list(arguments))[0].host)


def own_names(host: str) -> set[str]:
    """Names by which a browser may reach this machine when the site listens on `host`."""
    names = {"localhost", "127.0.0.1", "[::1]", socket.gethostname()}
    if host not in ("0.0.0.0", "::"):
        return names | {host}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks the kernel which address it would use
            names.add(probe.getsockname()[0])
        except OSError:
            pass  # no network but loopback
    return names
