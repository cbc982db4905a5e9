"""Dataset formats. A file here is a format, and its name is the format's name.

Each has two functions and a tuple:

    SUFFIXES                          file endings that it reads
    sniff(record) -> bool             does this JSON value look like a row of this format?
    read(path) -> Iterator[Sample | Broken]

`read` never stops at a row that it can pass over, so that one pass finds every broken row.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from engine.formats.sample import Broken, Message, Role, Sample

NAMES = ("alpaca", "sharegpt", "moss", "text")

__all__ = ["NAMES", "Broken", "Format", "Message", "Role", "Sample", "get", "looks_like"]


class Format(Protocol):
    """What each format module offers."""

    SUFFIXES: tuple[str, ...]

    def sniff(self, record: Any) -> bool: ...

    def read(self, path: Path) -> Iterator[Sample | Broken]: ...


def get(name: str) -> Format:
    """The format of this name, imported on first use. Raises KeyError for an unknown one."""
    if name not in NAMES:
        raise KeyError(name)
    return cast(Format, import_module(f"engine.formats.{name}"))


def looks_like(record: Any) -> str | None:
    """The name of the format whose row this JSON value looks like; None if of none."""
    return next((name for name in NAMES if get(name).sniff(record)), None)
