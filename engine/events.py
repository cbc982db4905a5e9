"""`Event`: one fact about a run, as one JSON line on disk.

`events.jsonl` of a run has a single writer, the runner, which numbers the lines. A stage's own
process emits facts without a number into `stages/<stage>/emitted.jsonl` (`Emitter`); the runner
folds them in and remembers in `offset` how far it has read, so that a runner that takes over
neither loses nor repeats one.

Iterations may be told twice: a training that was interrupted goes on from its newest checkpoint, and does
the iterations after it again, under their own numbers. Each of these facts is true; of an iteration the
last one counts, since it is the one whose outcome the weights hold.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

EventKind = Literal["started", "log", "progress", "metric", "checkpoint", "problem", "finished"]
EMIT_VARIABLE = "TRAINYARD_EMIT"
"""Environment variable that names the file into which a stage's process emits."""

# Names of the metrics of one iteration; the unit is in the name where there is one.
LM_LOSS = "lm_loss"
ELAPSED_MS = "elapsed_ms_per_iteration"
LEARNING_RATE = "learning_rate"
GRAD_NORM = "grad_norm"
TOKENS_PER_SECOND = "tokens_per_second_per_device"
SKIPPED = "skipped"
METRICS = (LM_LOSS, ELAPSED_MS, LEARNING_RATE, GRAD_NORM, TOKENS_PER_SECOND, SKIPPED)


class Event(BaseModel):
    """A numbered fact.

    data by kind:
      started     run: {"spec_version"}, again when it goes on after it had ended; stage: {"argv", "pid"}
      log         {"text"}                                   a remark of the runner or a stage; of an interrupted
                  stage that is started again also {"restart", "iteration"}: which time, and where it goes on from
      progress    {"done", "total", "unit", "seconds_left"}  total and seconds_left may be null
      metric      {"iteration", "total_iterations", "consumed_samples", <METRICS>...}
      checkpoint  {"iteration", "path"}
      problem     {"problem": Problem as JSON}
      finished    {"state": "succeeded"|"failed"|"stopped", "returncode": int|null}
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    """1, 2, 3, … within the run, without a hole."""
    time: float
    """Seconds since the epoch, UTC."""
    stage: str
    """Name of the stage; empty for the run as a whole."""
    rank: int = 0
    kind: EventKind
    data: dict[str, Any] = {}
    offset: int | None = None
    """For an emitted fact: end of its line in the stage's emitted.jsonl, in bytes."""

    def line(self) -> bytes:
        return self.model_dump_json().encode() + b"\n"


class Emitter:
    """Writes the facts of one stage process; does nothing when no file is named.

    Each line is one `write` on an O_APPEND descriptor, so that it is whole or absent.
    NaN and infinity are written as the strings "NaN", "Infinity", "-Infinity".
    """

    def __init__(self, path: str | Path | None) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._descriptor = None if path is None else os.open(path, flags, 0o644)

    @classmethod
    def from_environment(cls) -> Emitter:
        return cls(os.environ.get(EMIT_VARIABLE))

    def emit(self, kind: EventKind, rank: int = 0, **data: Any) -> None:
        if self._descriptor is None:
            return
        fact = {"time": time.time(), "rank": rank, "kind": kind, "data": finite(data)}
        os.write(self._descriptor, json.dumps(fact, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def finite(data: Mapping[str, Any]) -> dict[str, Any]:
    """Spell the floats that JSON has no word for, so that divergence stays visible."""
    return {key: _spell(value) for key, value in data.items()}


def _spell(value: Any) -> Any:
    if isinstance(value, float):
        if value != value:
            return "NaN"
        if value in (float("inf"), float("-inf")):
            return "Infinity" if value > 0 else "-Infinity"
    return value
