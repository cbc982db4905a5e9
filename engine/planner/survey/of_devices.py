"""For the devices that one has: every model that can be trained on them, how, and at which length at most."""

from __future__ import annotations

from dataclasses import dataclass

from engine.catalog import Catalog, ModelRow
from engine.planner.ask import Ask
from engine.planner.fitting import fits
from engine.planner.nearest import USUAL_MACHINE_GIB
from engine.planner.rules import devices as rules
from engine.planner.sizing import setting_of
from engine.planner.survey.cell import STRATEGIES, Cell, ask_of, cell_of, lengths_of, places
from engine.problems import Problem
from engine.spec import LARGEST_WORLD


@dataclass(frozen=True)
class Trainable:
    """What can be done with one model: its best cell for each of the shelf's ways; null where a way is closed."""

    model: str
    family: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Shelf:
    hardware: str
    devices: int
    problems: tuple[Problem, ...]
    """Why such a number cannot be used at all; there are no rows then."""
    ways: tuple[tuple[str, str], ...]
    """Framework and strategy."""
    rows: tuple[Trainable, ...]
    """The models that can be trained, in the order of the catalog."""


def of_devices(catalog: Catalog, hardware: str, devices: int) -> Shelf:
    """Raises KeyError for hardware that is not in the catalog."""
    if devices > LARGEST_WORLD:
        too_many = Problem(code="shape.too_large", field="devices", parameters={"limit": LARGEST_WORLD})
        return Shelf(hardware, devices, (too_many,), (), ())
    names = [name for name, place in places(catalog) if place == hardware]
    asked = ask_of(catalog, "-", names[0] if names else "native", catalog.hardware[hardware].name, "full", 8, devices)
    problems = (*rules.step(asked), *rules.nodes(asked))
    ways = tuple((name, strategy) for name in names for strategy in STRATEGIES)
    rows = [] if problems else [_row(catalog, model, hardware, devices, ways) for model in catalog.models.values()]
    kept = tuple(row for row in rows if any(row.cells))
    return Shelf(hardware, devices, problems, ways, kept)


def _row(
    catalog: Catalog, model: ModelRow, hardware: str, devices: int, ways: tuple[tuple[str, str], ...]
) -> Trainable:
    cells = []
    for framework, strategy in ways:
        lengths = lengths_of(catalog, model) if framework in model.frameworks else []
        asks = (ask_of(catalog, model.name, framework, hardware, strategy, length, devices) for length in lengths)
        cells.append(_longest(list(asks)))
    return Trainable(model.name, model.family, tuple(cells))


def _longest(asks: list[Ask]) -> Cell | None:
    """The last before the first that is refused: what is refused at a length is not offered at a longer one."""
    best = None
    for ask in asks:
        if not is_accepted(ask):
            break
        best = ask
    return None if best is None else cell_of(best)


def is_accepted(ask: Ask) -> bool:
    """Would the check accept these devices? False too where it does not know; native: if a usual machine is enough."""
    cell, setting = ask.cell, setting_of(ask, micro_batch_size=1)
    if ask.spec.framework == "native":
        needed = cell_of(ask).memory_gib
        return needed is None or needed * ask.spec.devices <= USUAL_MACHINE_GIB
    if setting is None or setting.memory_gib is None:
        return cell is not None and cell.devices is not None and ask.spec.devices >= cell.devices
    if cell is not None and (cell.devices is None or ask.spec.devices < cell.devices):
        return False
    below = rules.printed_below(ask)
    if below is not None and ask.spec.devices < (below.devices or 0):
        return False
    return fits(setting, ask.spec.devices)
