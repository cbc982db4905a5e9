"""What fits at this site, kept as long as its tables stay as they are."""

from __future__ import annotations

from collections.abc import Callable

from engine.catalog import Catalog
from engine.planner.survey import Grid, Shelf, of_devices, of_model
from jobs.catalog import current

MOST = 256
"""Answers that are kept; devices may be asked for in any number."""
_kept: tuple[Catalog, dict[tuple[str, int], Grid | Shelf]] | None = None


def grid(model: str) -> Grid:
    """Raises KeyError for a model that is not in the tables."""
    found = _answer((model, 0), lambda catalog: of_model(catalog, model))
    assert isinstance(found, Grid)
    return found


def shelf(hardware: str, devices: int) -> Shelf:
    """Raises KeyError for hardware that is not in the tables."""
    found = _answer((hardware, devices), lambda catalog: of_devices(catalog, hardware, devices))
    assert isinstance(found, Shelf)
    return found


def _answer(key: tuple[str, int], make: Callable[[Catalog], Grid | Shelf]) -> Grid | Shelf:
    """From what was made of these very tables; another catalog is another object."""
    global _kept
    catalog = current()
    if _kept is None or _kept[0] is not catalog or len(_kept[1]) >= MOST:
        _kept = (catalog, {})
    if key not in _kept[1]:
        _kept[1][key] = make(catalog)
    return _kept[1][key]
