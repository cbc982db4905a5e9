"""Finds the processes of a run in /proc (Linux), however far they have wandered.

A process belongs to the run when its session was started for it, or its environment says so, or
it holds the run's train.lock, or its parent belongs to it, or it has belonged to it before. So a
child that forked twice and opened a session of its own is found.
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
class Process:
    """A process for certain: numbers are given anew, together with a start time they are not."""

    pid: int
    start_time: int
    """Clock ticks since boot."""

    @classmethod
    def of(cls, pid: int) -> Process:
        """Of a child that is not yet waited for; it may already have ended."""
        stat = _stat(pid)
        return cls(pid, -1 if stat is None else stat.start_time)

    def lives(self) -> bool:
        stat = _stat(self.pid)
        return stat is not None and stat.state not in DEAD and stat.start_time == self.start_time


class Members:
    """The processes of a run's current stage."""

    def __init__(self, folder: RunFolder) -> None:
        self.leader: Process | None = None
        """The wrapper of the command: leader of the session."""
        self._mark = f"{MARK}={folder.path.resolve()}".encode()
        self._lock = folder.train_lock.resolve()
        self._seen: set[Process] = set()

    def living(self) -> list[int]:
        """Numbers of all living members, without the caller."""
        stats = _living_stats()
        session = self._session()
        found = {pid for pid, stat in stats.items() if stat.session == session or self._is_known(pid, stat)}
        found |= {pid for pid in stats.keys() - found if _is_marked(pid, self._mark) or _holds(pid, self._lock)}
        while children := {pid for pid, stat in stats.items() if stat.parent in found} - found:
            found |= children
        self._seen |= {Process(pid, stats[pid].start_time) for pid in found}
        return sorted(found)

    def send(self, number: signal.Signals) -> int:
        """Send a signal to each living member; how many there were."""
        found = self.living()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return len(found)

    def _is_known(self, pid: int, stat: _Stat) -> bool:
        return Process(pid, stat.start_time) in self._seen

    def _session(self) -> int | None:
        """The stage's session, unless its number has meanwhile been given to somebody else."""
        if self.leader is None:
            return None
        now = _stat(self.leader.pid)
        if now is None:  # a number is not given anew while a session still bears it
            return self.leader.pid
        return self.leader.pid if now.start_time == self.leader.start_time else None


@dataclass(frozen=True)
class _Stat:
    state: str
    parent: int
    session: int
    start_time: int


def _living_stats() -> dict[int, _Stat]:
    """Of all processes but the caller."""
    pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    stats = {pid: _stat(pid) for pid in pids if pid != os.getpid()}
    return {pid: stat for pid, stat in stats.items() if stat is not None and stat.state not in DEAD}


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before may hold spaces and brackets
    return _Stat(state=fields[0], parent=int(fields[1]), session=int(fields[3]), start_time=int(fields[19]))


def _is_marked(pid: int, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or somebody else's
        return False


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
