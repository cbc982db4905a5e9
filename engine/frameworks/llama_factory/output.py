"""LLaMA-Factory's log → metrics.

The Trainer prints, on the same stream as its progress bar, what the logging of an iteration has:

    {'loss': '8.999', 'grad_norm': '0.6314', 'learning_rate': '0.001', 'epoch': '0.0885'}

(numbers before transformers 5, texts since, of four digits). There is no iteration in it, so `Reader` counts: the
settings ask for every iteration to be logged, and a training that goes on from a checkpoint says from which one.
No time is in it either: whoever follows the log takes the time between the lines' arrival.

`metric` reads a line of checkpoints/trainer_log.jsonl, which has the iteration, but no gradient norm:

    {"current_steps": 5, "total_steps": 40, "loss": 8.9989, "lr": 0.001, "epoch": 0.0885, …}
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from engine import events
from engine.frameworks import Reader as PlainReader

_DICT = re.compile(r"\{'(?:loss|grad_norm|learning_rate)':[^{}]*\}")
_TOTAL = re.compile(r"\bTotal optimization steps = ([\d,]+)")
_FROM = re.compile(r"\b(?:Continuing|Resuming) training from (?:checkpoint with epoch \d+ and )?global step ([\d,]+)")
_BEGIN = "***** Running training *****"
_NAMES = {
    "loss": events.LM_LOSS,
    "lr": events.LEARNING_RATE,
    "learning_rate": events.LEARNING_RATE,
    "grad_norm": events.GRAD_NORM,
}


def metric(line: str) -> dict[str, float | int] | None:
    """The data of a metric event in a line of trainer_log.jsonl; None for any other line, such as an evaluation's."""
    try:
        row = json.loads(line)
        if "loss" not in row:
            return None
        data: dict[str, float | int] = {
            "iteration": int(row["current_steps"]),
            "total_iterations": int(row["total_steps"]),
        }
    except (ValueError, TypeError, KeyError):
        return None
    return data | _known(row)


class Reader(PlainReader):
    """Reads the log of a training from its first line on."""

    def __init__(self, framework: str) -> None:
        super().__init__(framework)
        self._iteration = 0
        self._total: int | None = None

    def metric(self, line: str) -> dict[str, float | int] | None:
        self._count_from(line)
        row = _row(line)
        if row is None:
            return None
        self._iteration += 1
        data: dict[str, float | int] = {"iteration": self._iteration}
        return data | ({} if self._total is None else {"total_iterations": self._total}) | _known(row)

    def begins(self, line: str) -> bool:
        return _FROM.search(line) is not None or _TOTAL.search(line) is not None

    def _count_from(self, line: str) -> None:
        if _BEGIN in line:
            self._iteration = 0
        if found := _TOTAL.search(line):
            self._total = _integer(found[1])
        if found := _FROM.search(line):
            self._iteration = _integer(found[1])


def _row(line: str) -> dict[str, Any] | None:
    """The last thing on its line, behind what the progress bar has drawn before."""
    found = _DICT.search(line)
    try:
        row = ast.literal_eval(found[0].replace(": nan", ": 'nan'").replace(": inf", ": 'inf'")) if found else None
    except (ValueError, SyntaxError):
        return None
    return row if isinstance(row, dict) and "loss" in row else None


def _known(row: dict[str, Any]) -> dict[str, float | int]:
    return {_NAMES[name]: float(value) for name, value in row.items() if name in _NAMES}


def _integer(text: str) -> int:
    return int(text.replace(",", ""))
