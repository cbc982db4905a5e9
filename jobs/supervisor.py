"""The detached process that stands behind a run: it runs the engine's runner and announces what grows.

It outlives the worker that launched it, needs neither Django nor the database, and without Redis
nothing is lost but promptness. `python -m jobs.supervisor RUN_DIR` starts it in the foreground.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from engine.run_folder import RunFolder
from engine.runner import AlreadyRunning, Result, run, stop_on_signals
from engine.runner.locks import take
from jobs.announcer import Announcer

PROJECT_ROOT = Path(__file__).resolve().parents[1]
LOCK_VARIABLE = "TRAINYARD_LOCK_DESCRIPTOR"
GRACE_VARIABLE = "TRAINYARD_STOP_GRACE_SECONDS"
PR_SET_PDEATHSIG = 1
OOM_SCORE_ADJUSTMENT = "-100"
DETACH = '"$@" &'
"""The shell ends at once, so that the supervisor is nobody's child and leaves no zombie with its launcher."""


def launch(folder: RunFolder, *, env: Mapping[str, str] | None = None) -> bool:
    """Start a supervisor for a prepared run; False when one lives already or the run has ended.

    env: added to the environment of this process. The lock of the run is taken here and handed over,
    so that there is no moment in which two launches could both succeed.
    """
    folder.create()
    lock = take(folder.lock)
    if lock is None:
        return False
    try:
        if folder.result.exists():
            return False
        _start(folder, lock, os.environ | dict(env or {}))
        return True
    finally:
        os.close(lock)


def _start(folder: RunFolder, lock: int, env: dict[str, str]) -> None:
    search = os.pathsep.join([str(PROJECT_ROOT), *filter(None, [env.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "jobs.supervisor", str(folder.path)]
    with folder.log("runner").open("ab") as log:
        subprocess.run(
            ["/bin/sh", "-c", DETACH, "trainyard-supervisor", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=env | {"PYTHONPATH": search, LOCK_VARIABLE: str(lock)},
            cwd=PROJECT_ROOT,
            pass_fds=(lock,),
            start_new_session=True,
            check=True,
        )


def supervise(folder: RunFolder) -> Result:
    """Run, or take over, and announce; TERM or the flag `stop` stops the run."""
    _detach()
    stop_on_signals(folder, (signal.SIGTERM,))
    descriptor = os.environ.pop(LOCK_VARIABLE, None)
    with contextlib.closing(Announcer(folder, os.environ.get("REDIS_URL"))) as announcer:
        return run(
            folder,
            on_change=announcer.on_change,
            grace_seconds=float(os.environ.get(GRACE_VARIABLE, "60")),
            lock_descriptor=None if descriptor is None else int(descriptor),
        )


def _detach() -> None:
    """Nothing that ends the launcher, its terminal included, may end this process."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _take_no_notice)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 0)
    with contextlib.suppress(OSError):  # only root may; it is a nicety
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE_ADJUSTMENT)


def _take_no_notice(_number: int, _frame: FrameType | None) -> None:
    """A handler, unlike SIG_IGN, is not inherited by the training."""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m jobs.supervisor RUN_DIR", file=sys.stderr)
        return 2
    try:
        result = supervise(RunFolder(arguments[0]))
    except AlreadyRunning as error:
        print(error, file=sys.stderr)
        return 1
    print(f"run {result.state}, stage {result.stage}, return code {result.returncode}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
