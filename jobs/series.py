"""Metric series of a run: one small binary file a metric, so that a million iterations draw at once.

`<run>/series/<key>.bin` holds records of (iteration, value), 16 bytes each. They are an index of the
metric events in events.jsonl: whoever reads may extend them, and they may be deleted at any time.
`<run>/series/index.json` says how far the events are taken in and how many records of each file count,
so that a half-made extension is cut off by the next one.
"""

from __future__ import annotations

import fcntl
import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from engine.run_folder import RunFolder, read_json, write_atomic
from jobs.run_files import open_followed, read_lines

RECORD = np.dtype([("iteration", "<i8"), ("value", "<f8")])
MOST_POINTS = 20_000
MOST_KEYS = 64
_KEY = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NOT_METRICS = frozenset({"iteration", "total_iterations", "consumed_samples"})
_SPELLED = ("NaN", "Infinity", "-Infinity")
_PIECE = 4 * 1024 * 1024


@dataclass
class Index:
    """How far the series files are made."""

    offset: int = 0
    """Bytes of events.jsonl that have been taken in."""
    seq: int = 0
    """Number of the last event that has been taken in."""
    counts: dict[str, int] = field(default_factory=dict)
    """Valid records of each file."""


def is_key(key: str) -> bool:
    return _KEY.fullmatch(key) is not None and key not in _NOT_METRICS


def extend(folder: RunFolder) -> Index:
    """Take in the events that have been written since; gives the index. Waits while another process does it."""
    series = folder.path / "series"
    if not folder.events.exists():
        return Index()
    series.mkdir(exist_ok=True)
    with _locked(series / "lock"):
        index = _read_index(series)
        if not _fits(index, folder):
            index = Index()
        for lines in _pieces(folder, index.offset):
            _take_in(series, index, lines)
    return index


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read_index(series: Path) -> Index:
    try:
        return Index(**(read_json(series / "index.json") or {}))
    except (ValueError, TypeError):
        return Index()


def _fits(index: Index, folder: RunFolder) -> bool:
    """Whether the events and the series files can be those that the index tells of."""
    if index.offset > folder.events.stat().st_size:
        return False
    files = {key: folder.path / "series" / f"{key}.bin" for key in index.counts}
    return all(
        path.exists() and path.stat().st_size >= index.counts[key] * RECORD.itemsize for key, path in files.items()
    )


def _pieces(folder: RunFolder, offset: int) -> Iterator[bytes]:
    with open_followed(folder.path, "events.jsonl") as file:
        while True:
            piece = read_lines(file, offset, _PIECE)
            # Only whole events: the end of a line that is still being written comes next time.
            data = piece.data[: piece.data.rfind(b"\n") + 1]
            if not data:
                return
            yield data
            offset += len(data)


def _take_in(series: Path, index: Index, lines: bytes) -> None:
    values: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for line in lines.splitlines():
        event = _parse(line)
        if event is None:
            continue
        index.seq = max(index.seq, int(event.get("seq", 0)))
        if event.get("kind") == "metric" and event.get("rank", 0) == 0:
            _collect(event.get("data", {}), values)
    for key, records in values.items():
        if key in index.counts or len(index.counts) < MOST_KEYS:
            _append(series / f"{key}.bin", index, key, records)
    index.offset += len(lines)
    write_atomic(series / "index.json", orjson.dumps(index).decode())


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None


def _collect(data: dict[str, Any], values: dict[str, list[tuple[int, float]]]) -> None:
    iteration = data.get("iteration")
    if type(iteration) is not int:
        return
    for key, value in data.items():
        number = _number(value)
        if number is not None and is_key(key):
            values[key].append((iteration, number))


def _number(value: object) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    return float(value) if isinstance(value, str) and value in _SPELLED else None


def _append(path: Path, index: Index, key: str, records: list[tuple[int, float]]) -> None:
    start = index.counts.get(key, 0) * RECORD.itemsize
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.truncate(start)
        file.seek(start)
        file.write(np.array(records, dtype=RECORD).tobytes())
    index.counts[key] = index.counts.get(key, 0) + len(records)


def read(folder: RunFolder, key: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Iterations (int64, ascending) and values (float64) of the first `count` records of a series.

    Of an iteration that was done again after an interruption the last value counts.
    """
    path = folder.path / "series" / f"{key}.bin"
    if not is_key(key) or count == 0:
        return np.empty(0, np.int64), np.empty(0)
    records = np.memmap(path, dtype=RECORD, mode="r", shape=(count,))
    iterations, values = np.array(records["iteration"]), np.array(records["value"])
    if np.any(iterations[1:] <= iterations[:-1]):
        order = np.argsort(iterations, kind="stable")
        iterations, values = iterations[order], values[order]
        last = np.append(iterations[1:] != iterations[:-1], True)
        iterations, values = iterations[last], values[last]
    return iterations, values


def downsample(iterations: np.ndarray, values: np.ndarray, points: int) -> dict[str, list[Any]]:
    """Buckets of neighbours with their smallest and largest finite value, so that no spike is hidden.

    {"iteration", "min", "max"}: lists of at most `points` entries; `iteration` is the bucket's first, and
    min and max are null where a bucket has no finite value. {"nan"}: the first iteration of each bucket's
    values that are not finite.
    """
    size = len(values)
    if size == 0:
        return {"iteration": [], "min": [], "max": [], "nan": []}
    starts = np.unique(np.linspace(0, size, min(points, size), endpoint=False, dtype=np.int64))
    finite = np.isfinite(values)
    masked = np.where(finite, values, np.nan)
    broken = np.flatnonzero(~finite)
    bucket = np.searchsorted(starts, broken, side="right")
    _, first = np.unique(bucket, return_index=True)
    return {
        "iteration": iterations[starts].tolist(),
        "min": _or_null(np.fmin.reduceat(masked, starts)),
        "max": _or_null(np.fmax.reduceat(masked, starts)),
        "nan": iterations[broken[first]].tolist(),
    }


def _or_null(values: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def series(
    folder: RunFolder, key: str, points: int = 1500, first: int | None = None, last: int | None = None
) -> dict[str, Any]:
    """A metric between two iterations as `downsample` gives it, and `nan_count`, `count`, the last event's `seq`."""
    index = extend(folder)
    iterations, values = read(folder, key, index.counts.get(key, 0))
    begin = 0 if first is None else int(np.searchsorted(iterations, first, side="left"))
    end = len(iterations) if last is None else int(np.searchsorted(iterations, last, side="right"))
    iterations, values = iterations[begin:end], values[begin:end]
    answer: dict[str, Any] = downsample(iterations, values, max(1, min(points, MOST_POINTS)))
    answer["nan_count"] = int(np.count_nonzero(~np.isfinite(values)))
    answer["count"] = len(values)
    answer["seq"] = index.seq
    return answer
