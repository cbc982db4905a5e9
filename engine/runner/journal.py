"""`Journal`: the single writer of events.jsonl, which survives being killed between any two bytes.

What a runner must know of its predecessor is read back from the file itself, so that no second
file can disagree with it.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections import defaultdict
from typing import Any

from engine.events import Event, EventKind, finite
from engine.run_folder import RunFolder


class Journal:
    """Appends numbered events; remembers which one-time facts are already written."""

    def __init__(self, folder: RunFolder) -> None:
        self._descriptor = os.open(folder.events, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.seq = 0
        self.offsets: dict[str, int] = defaultdict(int)
        """How far each stage's emitted.jsonl has been folded in, in bytes."""
        self.restarts: dict[str, tuple[int, int]] = {}
        """Of each stage: the iteration that its last restart went on from, and how many did so in a row."""
        self._written: set[tuple[str, ...]] = set()
        self._recover()

    def add(self, kind: EventKind, stage: str = "", **data: Any) -> None:
        """A fact of the runner itself."""
        self._append(Event(seq=self.seq + 1, time=time.time(), stage=stage, kind=kind, data=finite(data)))

    def add_once(self, kind: EventKind, stage: str = "", **data: Any) -> None:
        """Like `add`, unless this run already has it, perhaps from a runner that was killed right after."""
        if _identity(kind, stage, data) not in self._written:
            self.add(kind, stage, **data)

    def fold(self, stage: str, offset: int, fact: dict[str, Any]) -> None:
        """A fact that a stage's process emitted; `offset` is the end of its line in bytes."""
        self._append(Event(seq=self.seq + 1, stage=stage, offset=offset, **fact))

    def has(self, kind: EventKind, stage: str, **data: Any) -> bool:
        return _identity(kind, stage, data) in self._written

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _append(self, event: Event) -> None:
        line = event.line()
        size = os.fstat(self._descriptor).st_size
        try:
            written, number, reason = os.write(self._descriptor, line), errno.ENOSPC, "no space is left"
        except OSError as error:
            written, number, reason = 0, error.errno or 0, error.strerror or str(error)
        if written != len(line):
            os.ftruncate(self._descriptor, size)  # leave no half line behind
            raise OSError(number, f"events.jsonl cannot grow: {reason}")
        self._remember(event.seq, event.stage, event.kind, event.data, event.offset)

    def _recover(self) -> None:
        size = 0
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                size += len(line)
                event = json.loads(line)
                self._remember(event["seq"], event["stage"], event["kind"], event["data"], event["offset"])
        if size < os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, size)

    def _remember(self, seq: int, stage: str, kind: str, data: dict[str, Any], offset: int | None) -> None:
        self.seq = seq
        if offset is not None:
            self.offsets[stage] = offset
            return
        if kind == "started" and not stage:  # the run begins, or goes on after it has ended: all may be told anew
            self._written.clear()
            self.restarts.clear()
        if kind == "log" and "restart" in data:
            self.restarts[stage] = (data["iteration"], data["restart"])
        self._written.add(_identity(kind, stage, data))


def _identity(kind: str, stage: str, data: dict[str, Any]) -> tuple[str, ...]:
    """What makes a fact of the runner the same fact when it is told again."""
    if kind == "problem":
        return kind, stage, data["problem"]["code"]
    if kind == "finished":
        return kind, stage
    return kind, stage, json.dumps(data, sort_keys=True)
