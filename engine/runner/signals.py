"""Asking a run to stop: the flag `stop` in its folder, which a signal sets too.

The flag outlives the runner: should it be killed on the way, the next one goes on stopping.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable
from types import FrameType

from engine.run_folder import RunFolder

NOW = "now"
"""Content of the flag that asks for KILL without grace."""


def request_stop(folder: RunFolder, *, now: bool = False) -> None:
    """Ask the runner to stop; `now` leaves the training no time to save."""
    folder.stop.write_text(NOW if now else "", encoding="utf-8")


def stop_requested(folder: RunFolder) -> bool:
    return folder.stop.exists()


def stop_now_requested(folder: RunFolder) -> bool:
    try:
        return folder.stop.read_text(encoding="utf-8").strip() == NOW
    except FileNotFoundError:
        return False


def stop_on_signals(folder: RunFolder, signals: Iterable[signal.Signals]) -> None:
    """From now on each of these signals asks for a stop, and a second one for a stop without grace."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        request_stop(folder, now=stop_requested(folder))

    for number in signals:
        signal.signal(number, on_signal)
