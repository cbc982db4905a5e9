"""What one iteration tells: the log line that users of Megatron-LM know, and the events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine import events
from engine.events import Emitter


@dataclass(frozen=True)
class Iteration:
    """Figures of one iteration; `number` counts from 1, `loss` is the mean over its trained tokens."""

    number: int
    total: int
    consumed_samples: int
    global_batch_size: int
    loss: float
    grad_norm: float
    learning_rate: float
    elapsed_ms: float
    skipped: bool

    def tokens_per_second(self, seq_length: int, devices: int) -> float:
        """Per device, as MindSpeed-LLM counts it: every sample as `seq_length` tokens."""
        return self.global_batch_size * seq_length / (devices * self.elapsed_ms) * 1000


def log_line(it: Iteration, now: datetime) -> str:
    """Megatron-LM's training line (core 0.12.1), field for field; like there, no loss unless it is above zero."""
    fields = [
        f" [{now:%Y-%m-%d %H:%M:%S}] iteration {it.number:8d}/{it.total:8d}",
        f" consumed samples: {it.consumed_samples:12d}",
        f" elapsed time per iteration (ms): {it.elapsed_ms:.1f}",
        f" learning rate: {it.learning_rate:.6E}",
        f" global batch size: {it.global_batch_size:5d}",
        *([f" lm loss: {it.loss:.6E}"] if it.loss > 0 else []),
        " loss scale: 1.0",
        f" grad norm: {it.grad_norm:.3f}",
        f" number of skipped iterations: {int(it.skipped):3d}",
        f" number of nan iterations: {int(not math.isfinite(it.loss)):3d}",
    ]
    return " |".join(fields) + " |"


class Reporter:
    """Tells of each iteration; silent on every rank but the first."""

    def __init__(self, emitter: Emitter, *, seq_length: int, devices: int, speaks: bool) -> None:
        self._emitter, self._seq_length, self._devices, self._speaks = emitter, seq_length, devices, speaks
        self._mean_ms: float | None = None

    def iteration(self, it: Iteration) -> None:
        if not self._speaks:
            return
        print(log_line(it, datetime.now()), flush=True)
        metrics: dict[str, Any] = {
            events.LM_LOSS: it.loss,
            events.ELAPSED_MS: round(it.elapsed_ms, 3),
            events.LEARNING_RATE: it.learning_rate,
            events.GRAD_NORM: it.grad_norm,
            events.TOKENS_PER_SECOND: round(it.tokens_per_second(self._seq_length, self._devices), 3),
            events.SKIPPED: int(it.skipped),
        }
        self._emitter.emit(
            "metric", iteration=it.number, total_iterations=it.total, consumed_samples=it.consumed_samples, **metrics
        )
        self.progress(it.number, it.total, "iterations", self._seconds_left(it))

    def progress(self, done: int, total: int, unit: str, seconds_left: float | None = None) -> None:
        if self._speaks:
            self._emitter.emit("progress", done=done, total=total, unit=unit, seconds_left=seconds_left)

    def checkpoint(self, iteration: int, path: str) -> None:
        if not self._speaks:
            return
        print(f"  successfully saved checkpoint from iteration {iteration:7d} to {path}", flush=True)
        self._emitter.emit("checkpoint", iteration=iteration, path=path)

    def say(self, text: str) -> None:
        if self._speaks:
            print(f" {text}", flush=True)

    def _seconds_left(self, it: Iteration) -> float:
        """By a moving average, so that one slow iteration does not throw the estimate about."""
        mean = it.elapsed_ms if self._mean_ms is None else 0.8 * self._mean_ms + 0.2 * it.elapsed_ms
        self._mean_ms = mean
        return round(mean * (it.total - it.number) / 1000, 1)
