"""What fits by the tables of a site, kept as long as these stay as they are."""

from __future__ import annotations

from collections.abc import Callable

from engine.catalog import Catalog
from engine.planner.survey import Grid, Shelf, of_devices, of_model

MOST = 256
"""Answers that are kept; devices may be asked for in any number."""
_kept: tuple[Catalog, dict[tuple[str, int], Grid | Shelf]] | None = None


def grid(catalog: Catalog, model: str) -> Grid:
    """Raises KeyError for a model that is not in the tables."""
    found = _answer(catalog, (model, 0), lambda: of_model(catalog, model))
    assert isinstance(found, Grid)
    return found


def shelf(catalog: Catalog, hardware: str, devices: int) -> Shelf:
    """Raises KeyError for hardware that is not in the tables."""
    found = _answer(catalog, (hardware, devices), lambda: of_devices(catalog, hardware, devices))
    assert isinstance(found, Shelf)
    return found


def _answer(catalog: Catalog, key: tuple[str, int], make: Callable[[], Grid | Shelf]) -> Grid | Shelf:
    """From what was made of these very tables: `jobs.catalog.current` answers another object after a change."""
    global _kept
    kept = _kept
    if kept is None or kept[0] is not catalog or len(kept[1]) >= MOST:
        kept = _kept = (catalog, {})
    if key not in kept[1]:
        kept[1][key] = make()
    return kept[1][key]
