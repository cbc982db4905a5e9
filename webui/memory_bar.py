"""The memory of one device as a bar: what it goes to, beside what there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from engine.plan import Memory
from engine.problems import Problem
from engine.readable import words
from webui.reader import language

WIDTH = 1000
"""Units of the drawing; it is stretched to the width of its place."""
TIGHT = 90
"""Per cent from which a bar says that there is little room: the estimate is good to about ten."""
PARTS: dict[str, Promise] = {
    "weights": gettext_lazy("Weights"),
    "gradients": gettext_lazy("Gradients"),
    "optimizer": gettext_lazy("Optimizer"),
    "activations": gettext_lazy("Activations"),
    "logits": gettext_lazy("Logits"),
    "buffers": gettext_lazy("Buffers"),
    "runtime": gettext_lazy("Runtime"),
}
OVERFLOWS = ("devices.memory", "devices.memory_never", "memory.micro_batch", "memory.layout")
"""Findings that carry the figures of what does not fit."""


@dataclass(frozen=True)
class Part:
    name: str
    label: str
    gib: str
    x: float
    width: float


@dataclass(frozen=True)
class Bar:
    parts: tuple[Part, ...]
    words: str
    """The whole in words: needed, usable, share."""
    tone: str
    """good, warn (little room) or bad (too much)."""
    limit: float | None
    """Where the usable memory ends; null where it is the end of the bar, or not known."""


def of_plan(memory: Memory, hardware: str) -> Bar:
    return _bar(memory.breakdown, memory.usable_gib, hardware)


def of_problems(problems: Iterable[Problem], hardware: str) -> Bar | None:
    """The bar of what was refused for its memory; None if nothing was."""
    for problem in problems:
        if problem.code in OVERFLOWS:
            sizes = {name: float(problem.parameters.get(name) or 0) for name in PARTS}
            usable = problem.parameters.get("capacity")
            return _bar(sizes, usable if isinstance(usable, float) else None, hardware)
    return None


def _bar(sizes: Mapping[str, float], usable: float | None, hardware: str) -> Bar:
    total = sum(sizes.values())
    whole = max(total, usable or 0.0) or 1.0
    parts, x = [], 0.0
    for name, label in PARTS.items():
        width = round(WIDTH * sizes.get(name, 0.0) / whole, 2)
        if width > 0:
            parts.append(Part(name, str(label), words.gib(sizes[name]), round(x, 2), width))
        x += width
    limit = round(WIDTH * usable / whole, 2) if usable is not None and total > usable else None
    return Bar(tuple(parts), _words(total, usable, hardware), _tone(total, usable), limit)


def _words(total: float, usable: float | None, hardware: str) -> str:
    each = words.each(hardware, language())
    if usable is None:
        return _("About %(total)s GiB in %(each)s") % {"total": words.gib(total), "each": each}
    values = {
        "total": words.gib(total),
        "usable": words.gib(usable),
        "each": each,
        "percent": f"{100 * total / usable:.0f} %",
    }
    return _("%(total)s of %(usable)s GiB in %(each)s (%(percent)s)") % values


def _tone(total: float, usable: float | None) -> str:
    if usable is None or 100 * total < TIGHT * usable:
        return "good"
    return "warn" if total <= usable else "bad"
