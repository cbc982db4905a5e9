"""Tells a listener that a file of the run has grown. A listener can never hurt the run."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from engine.run_folder import RunFolder

OnChange = Callable[[Path], None]


class Watch:
    """Compares sizes of events.jsonl and logs/*.log with those seen before."""

    def __init__(self, folder: RunFolder, on_change: OnChange | None) -> None:
        self._folder = folder
        self._on_change = on_change
        self._sizes: dict[str, int] = {}
        self._complaint = ""

    def look(self) -> None:
        """Call the listener for each file that has grown since the last look."""
        if self._on_change is None:
            return
        for path, size in self._found():
            if self._sizes.get(path) != size:
                self._sizes[path] = size
                self._tell(Path(path))

    def _found(self) -> list[tuple[str, int]]:
        logs = [entry for entry in os.scandir(self._folder.logs) if entry.name.endswith(".log")]
        events = self._folder.events
        return [(str(events), events.stat().st_size), *((entry.path, entry.stat().st_size) for entry in logs)]

    def _tell(self, path: Path) -> None:
        assert self._on_change is not None
        try:
            self._on_change(path)
        except Exception as error:  # noqa: BLE001 - an outermost edge: whoever listens, the run goes on
            if repr(error) != self._complaint:  # the same one comes with every line
                self._complaint = repr(error)
                traceback.print_exc(limit=5, file=sys.stderr)
