"""Folds what a stage's process emitted into the journal: whole lines only, each exactly once."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from engine.runner.journal import Journal

KINDS = ("log", "progress", "metric", "checkpoint", "problem")
"""What a process may say; `started` and `finished` are the runner's words."""
CHUNK = 1 << 20
UNREADABLE_SHOWN = 500


def fold(journal: Journal, stage: str, path: Path) -> bool:
    """Fold in all whole new lines of `path`; True when there were any."""
    start = offset = journal.offsets[stage]
    try:
        with path.open("rb") as file:
            file.seek(offset)
            while lines := _whole_lines(file.readlines(CHUNK)):
                for line in lines:
                    offset += len(line)
                    journal.fold(stage, offset, _fact(line))
    except FileNotFoundError:
        return False
    return offset > start


def end_half_line(path: Path) -> None:
    """Close the last line of a killed process, so that the next process does not continue it."""
    try:
        with path.open("rb+") as file:
            if file.seek(0, 2) and file.seek(-1, 2) >= 0 and file.read(1) != b"\n":
                file.write(b"\n")
    except FileNotFoundError:
        return


def _whole_lines(lines: list[bytes]) -> list[bytes]:
    return lines if not lines or lines[-1].endswith(b"\n") else lines[:-1]


def _fact(line: bytes) -> dict[str, Any]:
    """The fact in a line; a line that is none becomes a remark, so that nothing is lost in silence."""
    try:
        fact = json.loads(line)
        if fact["kind"] in KINDS and isinstance(fact["data"], dict):
            return {"time": float(fact["time"]), "rank": int(fact["rank"]), "kind": fact["kind"], "data": fact["data"]}
    except (ValueError, KeyError, TypeError):
        pass
    text = line.decode(errors="replace").strip()[:UNREADABLE_SHOWN]
    return {"time": time.time(), "kind": "log", "data": {"text": f"unreadable fact: {text}"}}
