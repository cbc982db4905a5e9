"""Files between the preview of an import and its confirmation: in the site's data folder, each taken once."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from import_export.tmp_storages import BaseStorage

KEPT_SECONDS = 24 * 3600
NAME = re.compile(r"[0-9a-f]{32}")


class WaitingFile(BaseStorage):
    """`name` is what the confirmation hands in: not to be guessed, and no path."""

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        parent: Any = super()
        parent.__init__(name=name, **kwargs)
        self.name: str | None = name

    def save(self, data: bytes) -> None:
        """Those that nobody has confirmed within a day go."""
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if old.stat().st_mtime < time.time() - KEPT_SECONDS:
                old.unlink(missing_ok=True)
        self.name = uuid4().hex
        (folder / self.name).write_bytes(data)

    def read(self) -> bytes:
        return self._path().read_bytes()

    def remove(self) -> None:
        self._path().unlink()

    def take(self) -> bytes:
        """Read it, so that nobody else can. Raises FileNotFoundError when it has been taken or has gone."""
        path = self._path()
        taken = path.with_suffix(".taken")
        path.rename(taken)  # of two presses of the button one wins
        data = taken.read_bytes()
        taken.unlink()
        return data

    def _path(self) -> Path:
        if self.name is None or NAME.fullmatch(self.name) is None:
            raise FileNotFoundError(self.name)
        return _folder() / self.name


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "imports"
