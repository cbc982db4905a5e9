"""SIGTERM asks for a checkpoint and an end; it is obeyed between two iterations, or between two answers."""

from __future__ import annotations

import signal
from types import FrameType


class StopRequest:
    """Remembers that a SIGTERM has come."""

    def __init__(self) -> None:
        self.asked = False

    def listen(self) -> None:
        signal.signal(signal.SIGTERM, self._remember)

    def _remember(self, signum: int, frame: FrameType | None) -> None:
        self.asked = True
