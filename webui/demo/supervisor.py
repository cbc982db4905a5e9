"""Keeps the processes of the demo running, in the foreground, until it is told to stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from webui.demo.child import Child
from webui.demo.console import say, text

TICK = 0.2
READY_WITHIN = 60.0
STOP_WITHIN = 10.0
MANY_DEATHS = 5
WISHES = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class NotReady(Exception):
    """A process did not come up; the text says where to look."""


class Interrupted(Exception):
    """Asked to stop while waiting."""


class Supervisor:
    """Owns the children. Signals only set flags; everything happens in `tick`, in the main thread."""

    def __init__(self) -> None:
        self.children: list[Child] = []
        self.interrupts = 0
        self._woken = threading.Event()

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Take SIGINT, SIGTERM and SIGHUP as wishes to stop; the second one means at once."""
        old = {
            number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.interrupts += 1
        self._woken.set()

    def start(self, child: Child, *, wait: bool = True) -> None:
        """Start a child and wait until it is ready. Raises NotReady or Interrupted."""
        self.children.append(child)
        child.start()
        if not wait:
            return
        deadline = time.monotonic() + READY_WITHIN
        while not child.ready():
            if not child.alive or time.monotonic() > deadline:
                raise NotReady(_why_not_ready(child))
            self.pause()

    def pause(self) -> None:
        """Wait a moment, or until a signal. Raises Interrupted."""
        if self.interrupts:
            raise Interrupted
        self._woken.wait(TICK)

    def run(self, background: Callable[[], bool]) -> None:
        """Keep the children until `background`, called every tick, returns True, or until told to stop."""
        while not self.interrupts:
            for child in self.children:
                if child.keep(time.monotonic()):
                    _report(child)
            if background():
                return
            self._woken.wait(TICK)

    def stop(self) -> None:
        """All but the first child together, then the first, on which the others lean; kill what does not go."""
        if self.interrupts:
            say("stopping")
        self._woken.clear()
        asked = self.interrupts
        for group in (self.children[1:], self.children[:1]):
            for child in group:
                child.stop()
            deadline = time.monotonic() + STOP_WITHIN
            while any(child.alive for child in group) and time.monotonic() < deadline and self.interrupts <= asked:
                self._woken.wait(TICK)
            for child in group:
                child.kill()


def _why_not_ready(child: Child) -> str:
    return text("not_ready", name=child.name, seconds=READY_WITHIN, log=child.log, lines=child.last_lines())


def _report(child: Child) -> None:
    if child.deaths < MANY_DEATHS:
        say("died", name=child.name)
    elif child.deaths == MANY_DEATHS:
        say("dying", name=child.name, times=child.deaths, log=child.log, lines=child.last_lines())
