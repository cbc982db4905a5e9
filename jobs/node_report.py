"""What this node is and has. Found out without importing anything heavy."""

from __future__ import annotations

import importlib
import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
from django.conf import settings
from django.utils import timezone

from engine.frameworks import installed
from jobs import devices
from jobs.models import Node
from jobs.nodes import INSTALLING

NATIVE = ("torch", "transformers", "safetensors")
"""Distributions that our own engine needs; the version of the first is advertised."""
BESIDE_US = ("mindspeed-llm", "llama-factory")
"""Frameworks with an interpreter of their own."""


def report() -> Node:
    """Write this node's row."""
    values = {
        "hardware": devices.hardware(),
        "devices": devices.count(),
        "frameworks": frameworks(),
        "memory_gib": psutil.virtual_memory().total / 2**30,
        "last_seen": timezone.now(),
    }
    node, _ = Node.objects.update_or_create(name=settings.NODE, defaults=values)
    return node


def frameworks() -> dict[str, str]:
    """Name → version of what is installed; `installing` while the engine's packages are being installed."""
    found = {name: place.version for name in BESIDE_US if (place := installed.find(name, os.environ)) is not None}
    if (Path(settings.DATA_DIR) / "run" / "engine-installing").exists():
        return {**found, "native": INSTALLING}
    importlib.invalidate_caches()
    native = _version(NATIVE)
    return found if native is None else {**found, "native": native}


def _version(packages: tuple[str, ...]) -> str | None:
    """The first package's version if all are installed. pip writes this record last, so a half copy does not count."""
    try:
        versions = [version(package) for package in packages]
    except PackageNotFoundError:
        return None
    return versions[0]
