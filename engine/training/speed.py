"""`python -m engine.training.speed`: how many matrix products this machine's CPU does, in GFLOP/s on one line.

Square fp32 products on all the cores that the process may use, for about a second; the fastest counts, since other
programs can only make one slower. The estimate of a first training's time begins here.
"""

from __future__ import annotations

import os
import time

import torch

SIZE = 1024
SECONDS = 1.0


def gflops() -> float:
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    left, right = torch.rand(SIZE, SIZE), torch.rand(SIZE, SIZE)
    left @ right  # the first one starts the threads
    best, end = 0.0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        started = time.perf_counter()
        left @ right
        best = max(best, 2 * SIZE**3 / (time.perf_counter() - started) / 1e9)
    return best


if __name__ == "__main__":
    print(f"{gflops():.1f}")
