"""Follows the log of a framework that knows nothing of us, and makes its lines metrics in the journal, each once.

The processes write their log themselves and need no living reader. A metric keeps the place of its line, so that a
runner that takes over goes on behind the last one; it reads what is before again, since a framework's reader may
need it to number the lines.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from engine.events import ELAPSED_MS, finite
from engine.frameworks import reader
from engine.runner.journal import Journal

CHUNK = 1 << 20
RECENT = 20
"""Iterations whose time tells how long the rest will take."""


class Follower:
    """Of one stage's log."""

    def __init__(self, journal: Journal, stage: str, framework: str, path: Path) -> None:
        self._journal = journal
        self._stage = stage
        self._path = path
        self._reader = reader(framework)
        self._offset = 0
        self._told = journal.offsets[stage]
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._last: float | None = None
        """When the latest sign of the training was seen; null where it was written before this runner looked."""

    def look(self) -> None:
        """Take in all whole new lines."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                while lines := file.readlines(CHUNK):
                    if not self._take(lines):
                        return
        except FileNotFoundError:
            return

    def _take(self, lines: list[bytes]) -> bool:
        """False at the half line that is still being written."""
        now = time.time()
        found = []
        for line in lines:
            if not line.endswith(b"\n"):
                break
            self._offset += len(line)
            text = line.decode(errors="replace")
            data = self._reader.metric(text)
            if self._offset <= self._told:
                continue
            if data is not None:
                found.append((self._offset, data))
            elif self._reader.begins(text):
                self._last = now
        self._tell(found, now)
        return lines[-1].endswith(b"\n")

    def _tell(self, found: list[tuple[int, dict[str, float | int]]], now: float) -> None:
        """Lines that carry no time share what has passed since the look that saw the one before."""
        if not found:
            return
        each = None if self._last is None else (now - self._last) * 1000 / len(found)
        for offset, data in found:
            if ELAPSED_MS not in data and each is not None:
                data[ELAPSED_MS] = round(each, 1)
            self._fold(offset, "metric", data, now)
            if ELAPSED_MS in data:
                self._recent.append(data[ELAPSED_MS])
        self._last = now
        self._tell_progress(*found[-1], now)

    def _tell_progress(self, offset: int, data: dict[str, float | int], now: float) -> None:
        done, total = data["iteration"], data.get("total_iterations")
        left = None
        if total is not None and self._recent:
            left = round((total - done) * fmean(self._recent) / 1000, 1)
        facts = {"done": done, "total": total, "unit": "iterations", "seconds_left": left}
        self._fold(offset, "progress", facts, now)

    def _fold(self, offset: int, kind: str, data: Mapping[str, Any], now: float) -> None:
        self._journal.fold(self._stage, offset, {"time": now, "kind": kind, "data": finite(data)})
