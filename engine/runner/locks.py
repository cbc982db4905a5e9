"""The two locks of a run. A lock file says who lives more surely than a process number, which may be reused.

Ask with `is_alive`, `has_processes` and `is_held` only: they take a shared lock for an instant, so that
asking never looks like holding to another one who asks.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from engine.run_folder import RunFolder

PATIENCE_SECONDS = 0.2
"""How long `take` waits: longer than anyone holds a lock just to ask."""


class AlreadyRunning(Exception):
    """Another runner holds the lock of this run."""


def is_alive(folder: RunFolder) -> bool:
    """Whether a runner lives."""
    return is_held(folder.lock)


def has_processes(folder: RunFolder) -> bool:
    """Whether processes of a stage live, with or without a runner."""
    return is_held(folder.train_lock)


def take(path: Path) -> int | None:
    """A descriptor that holds the lock, or None when another has it. Close it to let go."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                return None
            time.sleep(0.01)


def adopt(descriptor: int, path: Path) -> int:
    """Use a descriptor that was inherited together with its lock; AlreadyRunning if it is not of this file."""
    try:
        same = os.path.samestat(os.fstat(descriptor), path.stat())
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise AlreadyRunning(str(path)) from error
    if not same:
        raise AlreadyRunning(str(path))
    os.set_inheritable(descriptor, False)
    return descriptor


def is_held(path: Path) -> bool:
    """Whether a process holds the lock of this file; a file that is not there is held by none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
