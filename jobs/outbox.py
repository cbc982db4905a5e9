"""Sends to Redis from a thread of its own, so that nobody waits for a Redis that is away or hangs.

What is sent is a hint: the files and the rows are the truth, and the reconciler repeats what matters.
So the oldest is dropped when too much waits, and at the end of the process only a moment is given.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread

log = logging.getLogger(__name__)
CAPACITY = 1000
LAST_MOMENT_SECONDS = 1.0


class Outbox:
    """Letters are sent one after the other, in the order in which they were put in."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._letters: deque[Callable[[], None]] = deque(maxlen=CAPACITY)
        self._sending = False
        self._thread: Thread | None = None

    def put(self, letter: Callable[[], None]) -> None:
        """Have `letter` called soon. Never waits and never raises."""
        with self._changed:
            self._letters.append(letter)
            if self._thread is None:
                self._thread = Thread(target=self._send_all, name="outbox", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait_empty(self, seconds: float) -> bool:
        """Whether everything has been sent, or has failed, within this time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._letters and not self._sending, seconds)

    def _send_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._letters)
                letter = self._letters.popleft()
                self._sending = True
            try:
                letter()
            except Exception:  # the outermost edge: the thread must outlive any letter
                log.exception("a letter could not be sent")
            with self._changed:
                self._sending = False
                self._changed.notify_all()


_outbox = Outbox()


def post(letter: Callable[[], None]) -> None:
    """Have `letter` called soon, in a thread of its own."""
    _outbox.put(letter)


def wait_empty(seconds: float = LAST_MOMENT_SECONDS) -> bool:
    """Whether everything that was posted so far has been sent, or has failed, within this time."""
    return _outbox.wait_empty(seconds)


def _begin_anew() -> None:
    """Threads do not survive a fork, and what waits is the parent's to send."""
    global _outbox
    _outbox = Outbox()


os.register_at_fork(after_in_child=_begin_anew)
atexit.register(wait_empty)
