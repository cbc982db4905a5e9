"""Hashes of what files hold, whatever they are called and whenever they were written."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from engine.formats.files import DataFile

PIECE = 1 << 20


def digest_of(files: Sequence[DataFile]) -> str:
    """SHA-256 of the file; of several, of their names with the SHA-256 of each. Raises OSError."""
    if len(files) == 1:
        return file_digest(files[0].path)
    hashed = hashlib.sha256()
    for file in files:
        hashed.update(f"{file.name}\0{file_digest(file.path)}\n".encode(errors="replace"))
    return hashed.hexdigest()


def file_digest(path: Path) -> str:
    """Raises OSError, also for what is no file: a pipe would wait for ever."""
    if not path.is_file():
        raise OSError(f"{path} is no file")
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(PIECE):
            hashed.update(data)
    return hashed.hexdigest()
