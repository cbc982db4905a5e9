"""How far reading has come, in bytes of the files, and how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from engine.events import Emitter

EVERY_SECONDS = 0.5
MEGABYTE = 1_000_000


class Progress:
    """Tells now and then; `log_interval` rows also make a line in the log, 0 none."""

    def __init__(self, emitter: Emitter, files: Sequence[Path], log_interval: int = 0) -> None:
        self._emitter, self._files, self._log_interval = emitter, [str(path) for path in files], log_interval
        sizes = [path.stat().st_size for path in files]
        self._before = dict(zip(self._files, (sum(sizes[:n]) for n in range(len(sizes))), strict=True))
        self._total = sum(sizes)
        self._started, self._started_at = time.monotonic(), 0
        self._first_rows = self._told_rows = 0
        self._due = self._started + EVERY_SECONDS  # a short job has nothing to tell

    def begin(self, rows: int) -> None:
        """From here on time counts: so many rows were done by an earlier attempt, and were read over."""
        self._started, self._started_at = time.monotonic(), self._place() if rows else 0
        self._first_rows = self._told_rows = rows

    def tell(self, rows: int) -> None:
        """So many rows are done."""
        now = time.monotonic()
        if self._log_interval and rows - self._told_rows >= self._log_interval:
            self._told_rows = rows
            speed = (rows - self._first_rows) / max(now - self._started, 1e-9)
            print(
                f" processed {rows} rows ({speed:.0f} rows/s, {self._left(now, self._place()):.0f} s left)", flush=True
            )
        if now < self._due:
            return
        self._due = now + EVERY_SECONDS
        place = self._place()
        left = self._left(now, place)
        self._emitter.emit(
            "progress",
            done=round(place / MEGABYTE, 1),
            total=round(self._total / MEGABYTE, 1),
            unit="MB",
            seconds_left=round(left, 1) if place > self._started_at else None,
        )

    def _left(self, now: float, place: int) -> float:
        return (now - self._started) * (self._total - place) / max(place - self._started_at, 1)

    def _place(self) -> int:
        """Bytes read: those of the files before the open one, and the place in that one.

        Asked of the kernel, since each kind of file is read by another library. Where none is open any more, all.
        """
        for descriptor in Path("/proc/self/fd").iterdir():
            try:
                path = str(descriptor.readlink())
                if path in self._before:
                    first = Path("/proc/self/fdinfo", descriptor.name).read_text(encoding="ascii").split("\n", 1)[0]
                    return self._before[path] + int(first.split()[1])
            except OSError:  # closed in between
                continue
        return self._total
