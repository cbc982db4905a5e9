"""What a node measures of itself: how fast the disk of the runs is written, and how fast its CPU multiplies matrices.

Rarely, and never while a run holds one of its devices: the figures serve the check, and are worth no run's time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.utils import timezone

from jobs.models import DeviceLease, Node
from jobs.nodes import has

VALID_FOR = timedelta(days=7)
"""After this a figure is measured again."""
WRITTEN_BYTES = 64 * 2**20
PIECE = 4 * 2**20
SPEED_SECONDS = 120
"""Longer does the engine not need for its second of matrix products, imports and all."""


def measure() -> None:
    """Renew the figures of this node that are missing or old. Does nothing while the node is busy."""
    node = Node.objects.filter(name=settings.NODE).first()
    if node is None or DeviceLease.objects.filter(node=node).exists():
        return
    now, values = timezone.now(), dict[str, object]()
    if _is_old(node.write_measured) and (speed := write_speed(Path(settings.RUNS_DIR))) is not None:
        values |= {"write_mb_per_second": speed, "write_measured": now}
    due = node.hardware == "cpu" and has(node, "native") and _is_old(node.gflops_measured)
    if due and (found := gflops()) is not None:
        values |= {"gflops": found, "gflops_measured": now}
    if values:
        Node.objects.filter(pk=node.pk).update(**values)


def _is_old(measured: datetime | None) -> bool:
    return measured is None or measured < timezone.now() - VALID_FOR


def write_speed(folder: Path, size: int = WRITTEN_BYTES) -> float | None:
    """MB/s of a file that is on the disk before the clock stops; None where nothing can be written."""
    path, piece = folder / f".write-speed-{uuid4().hex}", os.urandom(PIECE)
    try:
        started = time.perf_counter()
        with path.open("wb") as file:
            for _ in range(-(-size // PIECE)):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        return -(-size // PIECE) * PIECE / 1e6 / (time.perf_counter() - started)
    except OSError:
        return None
    finally:
        path.unlink(missing_ok=True)


def gflops() -> float | None:
    """Measured by the engine in a process of its own: nothing here imports torch. None where it does not succeed."""
    command = [sys.executable, "-m", "engine.training.speed"]
    try:
        done = subprocess.run(
            command, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=SPEED_SECONDS, check=True
        )
        return float(done.stdout.strip())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
