"""A folder that is either whole or absent: written under a temporary name, synced, renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(destination: Path, temporary: Path | None = None) -> Iterator[Path]:
    """Yield a temporary folder beside `destination`; on success it takes its place, on failure it is removed.

    temporary: its path, where other processes have to know it.
    """
    temporary = temporary or destination.with_name(f".{destination.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        for path in temporary.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # safetensors writes for the owner alone
            sync(path)
        sync(temporary)
        if destination.exists():
            shutil.rmtree(destination)
        temporary.replace(destination)
        sync(destination.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sync(path: Path) -> None:
    """Make a file's or folder's content survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
