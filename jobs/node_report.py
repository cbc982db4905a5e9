"""What this node is and has. Found out without importing anything heavy."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
from django.conf import settings
from django.utils import timezone

from jobs import devices
from jobs.models import Node
from jobs.nodes import INSTALLING

PACKAGES = {
    "native": ("torch", "transformers", "safetensors"),
    "mindspeed-llm": ("mindspeed_llm", "mindspeed", "torch_npu"),
    "llama-factory": ("llamafactory", "torch", "transformers"),
}
"""Framework → distributions that it needs; the version of the first is advertised."""


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
    if (Path(settings.DATA_DIR) / "run" / "engine-installing").exists():
        return {"native": INSTALLING}
    importlib.invalidate_caches()
    found = {name: _version(packages) for name, packages in PACKAGES.items()}
    return {name: text for name, text in found.items() if text is not None}


def _version(packages: tuple[str, ...]) -> str | None:
    """The first package's version if all are installed. pip writes this record last, so a half copy does not count."""
    try:
        versions = [version(package) for package in packages]
    except PackageNotFoundError:
        return None
    return versions[0]
