"""A line of a native training log → the facts of a metric, or None.

The line is Megatron's, as a MindSpeed-LLM user knows it:

    [2026-01-31 10:00:00] iteration   10/  100 | consumed samples:   80 | … | lm loss: 2.5E+00 | …

A running native job sends its facts by `engine.events`; this reads a log that has been kept without them.
"""

from __future__ import annotations

import re

from engine import events

_ITERATION = re.compile(r"\biteration\s+(\d+)/\s*(\d+)\s*\|")
_FIELD = re.compile(r"\s*([^|:]+?):\s*([-+.\w]+)\s*\|")
_NAMES = {
    "elapsed time per iteration (ms)": events.ELAPSED_MS,
    "learning rate": events.LEARNING_RATE,
    "lm loss": events.LM_LOSS,
    "grad norm": events.GRAD_NORM,
}


def metric(line: str) -> dict[str, float | int] | None:
    """The data of a metric event (`engine.events.Event`); None for any other line."""
    found = _ITERATION.search(line)
    if found is None:
        return None
    data: dict[str, float | int] = {"iteration": int(found[1]), "total_iterations": int(found[2])}
    for name, value in _FIELD.findall(line[found.end() :]):
        if name in _NAMES:
            data[_NAMES[name]] = float(value)
        elif name == "consumed samples":
            data["consumed_samples"] = int(value)
        elif name == "number of skipped iterations":
            data[events.SKIPPED] = int(value)
    return data
