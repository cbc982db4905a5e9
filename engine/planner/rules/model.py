"""Rules about the model row."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from engine.catalog import Catalog
from engine.planner.ask import Ask
from engine.problems import Problem


def unknown(ask: Ask) -> Iterator[Problem]:
    if ask.model is None:
        yield not_known(ask.catalog, ask.spec.model)


def not_known(catalog: Catalog, name: str) -> Problem:
    """Of any name, also one that no request can hold."""
    near = get_close_matches(name.lower(), list(catalog.models), n=3, cutoff=0.5)
    return Problem(
        code="model.unknown",
        field="model",
        parameters={"model": name, "near": ", ".join(near) or "-"},
        nearest={"model": near[0]} if near else {},
    )


def retired(ask: Ask) -> Iterator[Problem]:
    """The vendor no longer lists it; our own engine does not mind."""
    if ask.model is not None and ask.model.status.startswith("retired") and ask.framework.table:
        yield Problem(code="model.retired", field="model", severity="note", parameters={"status": ask.model.status})
