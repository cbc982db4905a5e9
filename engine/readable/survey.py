"""What fits, as a table for a terminal or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine import problem_texts
from engine.planner.survey import Cell, Grid, Shelf
from engine.readable import words
from engine.readable.columns import aligned

_MARKS = {
    "legend": (
        "64 printed minimum · ~ estimate · (32/64) by memory at least/recommended · ? doubted · - unsupported · "
        "x fits on no number",
        "64 表中最少 · ~ 估计 · (32/64) 按内存至少/推荐 · ? 存疑 · - 不支持 · x 多少都放不下",
    ),
    "native": ("native: GiB of memory in one process (estimate)", "native：单个进程的内存，单位 GiB（估计）"),
    "longest": ("longest sequence; a number in brackets is recommended", "最长序列；括号内为推荐数量"),
    "nothing": ("Nothing in the catalog fits, or nothing is known.", "没有放得下的模型，或没有相关数据。"),
}


def _mark(name: str, language: str) -> str:
    return _MARKS[name][0 if words.is_english(language) else 1]


def grid_text(grid: Grid, language: str) -> str:
    """Lines of framework, hardware and strategy; a column a length. Ends without a newline."""
    head = [grid.model, *map(str, grid.lengths)]
    lines = [
        [_place(line.framework, line.hardware, line.strategy, language), *(mark(cell) for cell in line.cells)]
        for line in grid.lines
    ]
    native = any(line.framework == "native" for line in grid.lines)
    legend = [_mark("legend", language), *([_mark("native", language)] if native else [])]
    return "\n".join([*aligned([head, *lines]), *legend, *_doubts(grid, language)])


def mark(cell: Cell) -> str:
    """A cell in a few letters."""
    if cell.memory_gib is not None:
        return f"~{words.gib(cell.memory_gib)} GiB"
    if cell.least is None:
        return {"unsupported": "-", "never": "x"}.get(cell.state, "")
    need = cell.need
    printed = "~" if need.table is None else f"{need.table}"
    pair = "" if need.floor is None else f" ({need.floor}/{need.recommended or '-'})"
    return f"{printed}{'?' if need.suspect else ''}{pair}".replace("~ ", "~")


def _doubts(grid: Grid, language: str) -> Iterator[str]:
    codes = {cell.need.suspect for line in grid.lines for cell in line.cells if cell.need.suspect}
    for code in sorted(codes):
        yield f"?: {problem_texts.suspect(code, language)}"


def shelf_text(shelf: Shelf, language: str) -> str:
    """A line a model, a column a way; ends without a newline."""
    if shelf.problems:
        return "\n".join(problem_texts.message(problem, language) for problem in shelf.problems)
    if not shelf.rows:
        return _mark("nothing", language)
    counted = f"{words.hardware(shelf.hardware)}: {words.count(shelf.devices, shelf.hardware, language)}"
    head = [counted, *(f"{words.framework(name)} {words.strategy(how, language)}" for name, how in shelf.ways)]
    lines = [[row.model, *(_longest(cell, shelf.devices) for cell in row.cells)] for row in shelf.rows]
    return "\n".join([*aligned([head, *lines]), _mark("longest", language)])


def _longest(cell: Cell | None, devices: int) -> str:
    if cell is None:
        return ""
    more = cell.need.recommended
    return f"{cell.seq_length}" + (f" ({more})" if more is not None and more > devices else "")


def _place(framework: str, hardware: str, strategy: str, language: str) -> str:
    return f"{words.framework(framework)} · {words.hardware(hardware)} · {words.strategy(strategy, language)}"


def grid_json(grid: Grid, language: str) -> dict[str, Any]:
    cells = [cell_json(cell, language) for line in grid.lines for cell in line.cells]
    return {"model": grid.model, "lengths": list(grid.lengths), "cells": cells}


def shelf_json(shelf: Shelf, language: str) -> dict[str, Any]:
    return {
        "hardware": shelf.hardware,
        "devices": shelf.devices,
        "problems": [problem_texts.message(problem, language) for problem in shelf.problems],
        "trainable": [cell_json(cell, language) for row in shelf.rows for cell in row.cells if cell is not None],
    }


def cell_json(cell: Cell, language: str) -> dict[str, Any]:
    """`devices` as in `check --json`."""
    suspect = problem_texts.suspect(cell.need.suspect, language) if cell.need.suspect else None
    return {
        "model": cell.model,
        "framework": cell.framework,
        "hardware": cell.hardware,
        "strategy": cell.strategy,
        "seq_length": cell.seq_length,
        "state": cell.state,
        "devices": {**cell.need.model_dump(mode="json"), "suspect": suspect},
        "least": cell.least,
        "memory_gib": cell.memory_gib,
    }
