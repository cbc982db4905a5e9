"""For a model: frameworks × hardware × strategy × length, each with the devices that it needs."""

from __future__ import annotations

from dataclasses import dataclass

from engine.catalog import Catalog, ModelRow
from engine.planner.survey.cell import STRATEGIES, Cell, ask_of, cell_of, lengths_of, places


@dataclass(frozen=True)
class Line:
    """The cells of one framework, hardware and strategy, in the order of the grid's lengths."""

    framework: str
    hardware: str
    strategy: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    model: str
    lengths: tuple[int, ...]
    lines: tuple[Line, ...]
    """Without those of which nothing at all is known."""


def of_model(catalog: Catalog, name: str) -> Grid:
    """Raises KeyError for a model that is not in the catalog."""
    model = catalog.models[name]
    lengths = lengths_of(catalog, model)
    lines = []
    for framework, hardware in places(catalog):
        if not _speaks_of(catalog, model, framework):
            continue
        for strategy in STRATEGIES:
            asks = (ask_of(catalog, name, framework, hardware, strategy, length) for length in lengths)
            cells = tuple(cell_of(ask) for ask in asks)
            if any(cell.state != "unknown" for cell in cells):
                lines.append(Line(framework, hardware, strategy, cells))
    return Grid(name, tuple(lengths), tuple(lines))


def _speaks_of(catalog: Catalog, model: ModelRow, framework: str) -> bool:
    """Is the framework offered for the model, or marked as unsupported?"""
    rows = catalog.min_devices.values()
    return framework in model.frameworks or any((row.model, row.framework) == (model.name, framework) for row in rows)
