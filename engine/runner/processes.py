"""Finds the processes of a run in /proc (Linux), however far they have wandered.

A process belongs to the run when its session was started for it, or its environment says so, or
it holds the run's train.lock. So a child that forked twice and opened a session of its own is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from engine.run_folder import RunFolder

MARK = "TRAINYARD_RUN_DIR"
"""Environment variable of every process that a run has started."""
DEAD = ("Z", "X")


@dataclass(frozen=True)
class Leader:
    """The wrapper of a stage's command: leader of its session. Start time in clock ticks since boot."""

    pid: int
    start_time: int

    def lives(self) -> bool:
        stat = _stat(self.pid)
        return stat is not None and stat.state not in DEAD and stat.start_time == self.start_time

    @classmethod
    def of(cls, pid: int) -> Leader:
        """Of a child that is not yet waited for; it may already have ended."""
        stat = _stat(pid)
        return cls(pid, -1 if stat is None else stat.start_time)


@dataclass(frozen=True)
class _Stat:
    state: str
    session: int
    start_time: int


def members(folder: RunFolder, leader: Leader | None) -> list[int]:
    """Living processes of the run, without the caller."""
    pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    session = _session(leader)
    return [pid for pid in pids if pid != os.getpid() and _belongs(pid, folder, session)]


def send(folder: RunFolder, leader: Leader | None, number: signal.Signals) -> int:
    """Send a signal to every process of the run; how many there were."""
    found = members(folder, leader)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    return len(found)


def _belongs(pid: int, folder: RunFolder, session: int | None) -> bool:
    stat = _stat(pid)
    if stat is None or stat.state in DEAD:
        return False
    return stat.session == session or _is_marked(pid, folder) or _holds(pid, folder.train_lock.resolve())


def _session(leader: Leader | None) -> int | None:
    """The stage's session, unless its number has meanwhile been given to somebody else."""
    if leader is None:
        return None
    now = _stat(leader.pid)
    if now is None:  # a number is not given anew while a session still bears it
        return leader.pid
    return leader.pid if now.start_time == leader.start_time else None


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before may hold spaces and brackets
    return _Stat(state=fields[0], session=int(fields[3]), start_time=int(fields[19]))


def _is_marked(pid: int, folder: RunFolder) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # gone, or somebody else's
        return False
    return f"{MARK}={folder.path.resolve()}".encode() in environment.split(b"\0")


def _holds(pid: int, lock: Path) -> bool:
    """Whether the process holds the lock; having the file open to ask does not count."""
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if Path(entry.path).readlink() == lock and _is_lock(pid, entry.name):
                    return True
    except OSError:  # gone, or somebody else's
        pass
    return False


def _is_lock(pid: int, descriptor: str) -> bool:
    return b"\nlock:" in Path(f"/proc/{pid}/fdinfo/{descriptor}").read_bytes()
