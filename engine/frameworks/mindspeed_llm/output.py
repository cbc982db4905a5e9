"""A line of a MindSpeed-LLM training log → the facts of a metric, or None.

    [2026-03-02 10:15:07] iteration        1/    2000 | consumed samples:           64 | … | lm loss: 1.19E+01 | …

The last rank writes it every iteration. Fields are found by name, since releases add and leave out columns; other
processes' text may be glued before or behind. Upstream leaves out a loss that is not above 0, NaN among them: then
the metric has no loss, and what is wrong shows in the gradient norm (`nan`) or in the counters.

The forms of 1.0 (no time, `gloabl batch size`), of the FSDP2 trainer (`iteration: 10`, no total) and of its monitor
are read too.
"""

from __future__ import annotations

import re

from engine import events, frameworks

_ITERATION = re.compile(r"\biteration:?\s+(\d+)(?:\s*/\s*(\d+))?\s*\|")
_ARGUMENT = re.compile(r"^\s*(?:\[[^\]]*\]:?)?\s*(seq_length|world_size) \.{3,} (\d+)\s*$")
_NUMBERS = {
    "elapsed time per iteration (ms)": events.ELAPSED_MS,
    "learning rate": events.LEARNING_RATE,
    "lm loss": events.LM_LOSS,
    "grad norm": events.GRAD_NORM,
}
_COUNTS = {"consumed samples": "consumed_samples", "number of skipped iterations": events.SKIPPED}
_BATCH = ("global batch size", "gloabl batch size")


def metric(line: str) -> dict[str, float | int] | None:
    """The data of a metric event (`engine.events.Event`); None for any other line."""
    found = _ITERATION.search(line)
    fields = {} if found is None else _fields(line[found.end() :])
    if found is None or "consumed samples" not in fields:
        return None
    data: dict[str, float | int] = {"iteration": int(found[1])}
    if found[2] is not None:
        data["total_iterations"] = int(found[2])
    for name, text in fields.items():
        if name in _NUMBERS and (value := _number(text)) is not None:
            data[_NUMBERS[name]] = value
        elif name in _COUNTS and text.isdecimal():
            data[_COUNTS[name]] = int(text)
    return data


def batch_of(line: str) -> int | None:
    """Samples of the iteration that the line tells of."""
    found = _ITERATION.search(line)
    fields = {} if found is None else _fields(line[found.end() :])
    text = next((fields[name] for name in _BATCH if name in fields), "")
    return int(text) if text.isdecimal() else None


class Reader(frameworks.Reader):
    """Adds the speed: rank 0 lists its arguments before it trains, and with them the length and the devices."""

    def __init__(self, framework: str) -> None:
        super().__init__(framework)
        self._arguments: dict[str, int] = {}

    def metric(self, line: str) -> dict[str, float | int] | None:
        if (argument := _ARGUMENT.match(line)) is not None:
            self._arguments[argument[1]] = int(argument[2])
            return None
        data = metric(line)
        return data if data is None else data | self._speed(line, data)

    def _speed(self, line: str, data: dict[str, float | int]) -> dict[str, float | int]:
        """Every sample counts as the whole length: the data is padded to it."""
        length, world = self._arguments.get("seq_length"), self._arguments.get("world_size")
        samples, elapsed = batch_of(line), data.get(events.ELAPSED_MS)
        if not length or not world or not samples or not elapsed:
            return {}
        return {events.TOKENS_PER_SECOND: samples * length / (elapsed / 1000) / world}


def _fields(text: str) -> dict[str, str]:
    """By name; a name may hold a colon, so the last one counts."""
    found = {}
    for part in text.split("|"):
        name, colon, value = part.rpartition(":")
        if colon:
            found[name.strip()] = value.strip().split()[0] if value.strip() else ""
    return found


def _number(text: str) -> float | None:
    """nan and inf are numbers: that a training diverges must be seen."""
    try:
        return float(text)
    except ValueError:
        return None
