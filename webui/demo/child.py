"""One process under the demo's supervisor: in a session of its own, and never outliving us."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
STEADY = 60.0
"""Seconds; a process that lived this long is restarted at once, as after its first death."""

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def die_with(parent: int) -> Callable[[], None]:
    """For `preexec_fn`: the kernel kills us when `parent` dies, kill -9 included."""

    def apply() -> None:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)

    return apply


class Child:
    """A command that is kept running, its output appended to a file."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        log: Path,
        *,
        stop_signal: int = signal.SIGTERM,
        ready: Callable[[], bool] | None = None,
    ) -> None:
        self.name = name
        self.argv = list(argv)
        self.log = log
        self.stop_signal = stop_signal
        self.ready = ready or (lambda: True)
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.deaths = 0
        self.restart_at: float | None = None

    def start(self) -> None:
        self.restart_at = None
        self.started = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a terminal's Ctrl-C reaches the supervisor alone
                preexec_fn=die_with(os.getpid()),
            )

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def keep(self, now: float) -> bool:
        """Start it again if it has died, after a growing pause; True at the moment of finding it dead."""
        if self.process is None or self.alive:
            return False
        if self.restart_at is None:
            self.deaths = 1 if now - self.started > STEADY else self.deaths + 1
            self.restart_at = now + min(FIRST_WAIT * 2 ** (self.deaths - 1), LONGEST_WAIT)
            return True
        if now >= self.restart_at:
            self.start()
        return False

    def stop(self) -> None:
        if self.process is not None and self.alive:
            self.process.send_signal(self.stop_signal)

    def kill(self) -> None:
        """End it and everything in its session's group that it has left."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def last_lines(self, count: int = 8) -> str:
        try:
            return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:])
        except FileNotFoundError:
            return ""
