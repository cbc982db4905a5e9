"""What the page "What fits?" shows: a grid for a model, or a shelf for the devices that one has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from engine.catalog import Catalog
from engine.planner.survey import Cell, Grid, Shelf, unknown
from engine.problem_texts import message, remedy, suspect
from engine.problems import Problem
from engine.readable import words
from jobs import what_fits
from jobs.catalog import current
from jobs.models import Node
from webui.offers import model_choices
from webui.reader import language, sentences

MOST_DIGITS = 12


@dataclass(frozen=True)
class Tile:
    """A cell of the page: a link to a filled-in form."""

    url: str
    main: str
    small: str
    tone: str
    """printed, estimate, unsupported, never or unknown."""
    doubted: bool
    words: str
    """The cell in full, for whoever does not see the row and the column that it stands in."""


def context(query: Mapping[str, str]) -> dict[str, Any]:
    catalog = current()
    model, hardware, devices = query.get("model", ""), query.get("hardware", ""), query.get("devices", "").strip()
    if not model and not hardware:
        hardware, devices = _own_devices(catalog)
    found: dict[str, Any] = {
        "models": model_choices(catalog),
        "hardware_choices": [(name, words.hardware(name)) for name in catalog.hardware],
        "model": model,
        "hardware": hardware,
        "devices": devices or "8",
    }
    problem = unknown(catalog, model=model or None, hardware=hardware or None)
    if problem is not None:
        return {**found, "refusals": [_told(problem)]}
    if model:
        return {**found, **_grid(what_fits.grid(catalog, model))}
    if not hardware:
        return found
    if not devices.isdecimal() or len(devices) > MOST_DIGITS or int(devices) == 0:
        return {**found, "refusals": [_("The number of devices must be a whole number above 0.")]}
    return {**found, **_shelf(what_fits.shelf(catalog, hardware, int(devices)))}


def _own_devices(catalog: Catalog) -> tuple[str, str]:
    """What this site's newest node has; empty without one."""
    node = Node.objects.order_by("-last_seen").first()
    return (node.hardware, str(node.devices)) if node and node.hardware in catalog.hardware else ("", "")


def _told(problem: Problem) -> str:
    return sentences(message(problem, language()), remedy(problem, language()))


def _grid(grid: Grid) -> dict[str, Any]:
    groups = [
        {
            "framework": words.framework(name),
            "native": name == "native",
            "lines": [
                {
                    "hardware": words.hardware(line.hardware),
                    "strategy": words.strategy(line.strategy, language()),
                    "tiles": [_tile(cell) for cell in line.cells],
                }
                for line in lines
            ],
        }
        for name, lines in groupby(grid.lines, key=lambda line: line.framework)
    ]
    cells = [cell for line in grid.lines for cell in line.cells]
    doubts = sorted({cell.need.suspect for cell in cells if cell.need.suspect})
    return {"grid": grid, "groups": groups, "doubts": [suspect(code, language()) for code in doubts]}


def _tile(cell: Cell) -> Tile:
    main, small = _numbers(cell)
    return Tile(_url(cell), main, small, cell.state, bool(cell.need.suspect), _words(cell))


def _numbers(cell: Cell) -> tuple[str, str]:
    need = cell.need
    if cell.memory_gib is not None:
        return f"{words.gib(cell.memory_gib)} GiB", ""
    pair = "" if need.floor is None else f"{need.floor} / {need.recommended or '–'}"
    if need.table is not None:
        return str(need.table), pair
    if cell.least is not None:
        return f"≈ {need.recommended or cell.least}", pair
    return {"unsupported": "—", "never": "×"}.get(cell.state, "?"), ""


def _words(cell: Cell) -> str:
    place = ", ".join(
        (
            words.framework(cell.framework),
            words.hardware(cell.hardware),
            words.strategy(cell.strategy, language()),
            str(cell.seq_length),
        )
    )
    return f"{place}: {'; '.join(_parts(cell))}"


def _parts(cell: Cell) -> Iterator[str]:
    need = cell.need

    def counted(number: int) -> str:
        return words.count(number, cell.hardware, language())

    if cell.memory_gib is not None:
        yield _("about %(size)s GiB in one process") % {"size": words.gib(cell.memory_gib)}
    elif cell.state in ("unsupported", "never", "unknown"):
        told = {"unsupported": _("unsupported"), "never": _("fits on no number"), "unknown": _("not known")}
        yield told[cell.state]
    if need.table is not None:
        yield _("%(devices)s by the table") % {"devices": counted(need.table)}
    if need.floor is not None:
        yield _("memory needs %(devices)s") % {"devices": counted(need.floor)}
    if need.recommended is not None:
        yield _("%(devices)s recommended") % {"devices": counted(need.recommended)}
    if need.suspect:
        yield _("the printed number is in doubt")


def _url(cell: Cell, devices: int | None = None) -> str:
    return f"{reverse('job-new')}?{urlencode(cell.request(devices))}"


def _shelf(shelf: Shelf) -> dict[str, Any]:
    frameworks = [
        (words.framework(name), len(list(ways))) for name, ways in groupby(shelf.ways, key=lambda way: way[0])
    ]
    rows = [
        {
            "model": row.model,
            "family": row.family,
            "tiles": [None if cell is None else _longest(cell, shelf.devices) for cell in row.cells],
        }
        for row in shelf.rows
    ]
    return {
        "shelf": shelf,
        "shelf_devices": words.count(shelf.devices, shelf.hardware, language()),
        "shelf_hardware": words.hardware(shelf.hardware),
        "refusals": [_told(problem) for problem in shelf.problems],
        "frameworks": frameworks,
        "strategies": [words.strategy(strategy, language()) for _framework, strategy in shelf.ways],
        "rows": rows,
    }


def _longest(cell: Cell, devices: int) -> Tile:
    more, small = cell.need.recommended, ""
    if cell.memory_gib is not None:
        small = f"{words.gib(cell.memory_gib)} GiB"
    elif more is not None and more > devices:
        small = _("%(devices)s recommended") % {"devices": words.count(more, cell.hardware, language())}
    tone = "tight" if more is not None and more > devices else "roomy"
    spoken = f"{cell.model}, {_words(cell)}"
    return Tile(_url(cell, devices), str(cell.seq_length), small, tone, bool(cell.need.suspect), spoken)
