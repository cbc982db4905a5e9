"""Frameworks. A folder here is a framework: what it takes, and how its stages are started.

`description(name)` is light and is all that the checks need. A framework that this release can start
also has `flags.py` (our field → how it reads it), `stages.py` and `output.py` (a log line → facts).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

FOLDERS = {"native": "native", "mindspeed-llm": "mindspeed_llm", "llama-factory": "llama_factory"}


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a framework takes."""

    name: str
    hardware: tuple[str, ...]
    """Hardware rows that it runs on in this release."""
    formats: tuple[str, ...]
    """Dataset formats that it reads."""
    formats_later: tuple[str, ...] = ()
    """Dataset formats that it will read, but not in this release."""
    launchable: bool
    """Can this release start it?"""
    table: bool
    """Does the minimum-device table speak of it?"""
    splits_models: bool
    """Can it cut one model over devices (tensor and pipeline parallel)?"""


def description(name: str) -> Description:
    """What the framework of this name takes. Raises KeyError for an unknown one."""
    module = import_module(f"engine.frameworks.{FOLDERS[name]}")
    found: Description = module.DESCRIPTION
    return found
