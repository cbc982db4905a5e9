"""A detached process behind one question to the engine about a dataset: `python -m jobs.datasets.process FOLDER`.

Like a run's supervisor it is nobody's child, so that the worker may go, and it writes files only:

    request.json    what the engine reads on standard input
    limits.json     seconds that it may take, and the slots of which it takes one
    lock            held by the living process
    answer.json     what the engine printed, whole
    errors.log      what it said on standard error; lines of JSON are its progress
    returncode      written last; `timeout` when the time was over
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.problems import Problem
from engine.run_folder import write_atomic
from engine.runner.launching import PRIVATE
from engine.runner.locks import is_held, take

PROJECT_ROOT = Path(__file__).resolve().parents[2]
ENGINE = (sys.executable, "-m", "engine.inspection")
DETACH = '"$@" &'
"""The shell ends at once, so that the process is nobody's child and leaves no zombie with its launcher."""
TIMED_OUT = "timeout"
LAST_BYTES = 4000
NICE = 10
"""Trainings on the same machine come first."""
PR_SET_PDEATHSIG = 1


def launch(folder: Path, request: Mapping[str, Any], *, seconds: float, slots: Sequence[Path]) -> bool:
    """Begin to answer in this folder; False when that is being done already or has been."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o750)
    if (folder / "returncode").exists() or is_alive(folder):
        return False
    write_atomic(folder / "request.json", json.dumps(request))
    write_atomic(folder / "limits.json", json.dumps({"seconds": seconds, "slots": [str(slot) for slot in slots]}))
    command = [sys.executable, "-m", "jobs.datasets.process", str(folder)]
    with (folder / "errors.log").open("ab") as log:
        subprocess.run(
            ["/bin/sh", "-c", DETACH, "trainyard-inspect", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environment(os.environ),
            cwd=PROJECT_ROOT,
            start_new_session=True,
            check=True,
        )
    return True


def refuse(folder: Path, problem: Problem) -> None:
    """Leave an answer without asking the engine."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o750)
    write_atomic(folder / "answer.json", json.dumps({"problems": [problem.model_dump(mode="json")]}))
    write_atomic(folder / "returncode", "2")


def is_alive(folder: Path) -> bool:
    """Whether a process is at work on this folder."""
    return is_held(folder / "lock")


def returncode(folder: Path) -> str | None:
    """What the process has left at its end; None while it has not ended."""
    try:
        return (folder / "returncode").read_text(encoding="ascii")
    except FileNotFoundError:
        return None


def answer(folder: Path) -> str | None:
    """What the engine printed; None while there is none."""
    try:
        return (folder / "answer.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def progress(folder: Path) -> dict[str, Any]:
    """The engine's last word on how far it is: rows, bytes, and size of all; empty if it has said nothing yet."""
    try:
        with (folder / "errors.log").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return {}
    return next((found for line in reversed(lines) if (found := _progress(line))), {})


def _progress(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Without secrets: the engine reads what people have brought along."""
    kept = {name: value for name, value in ours.items() if name not in PRIVATE and not name.startswith("DJANGO_")}
    search = os.pathsep.join([str(PROJECT_ROOT), *filter(None, [ours.get("PYTHONPATH")])])
    return kept | {"PYTHONPATH": search, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"}


def _slot(slots: Sequence[Path]) -> int:
    """Waits until one is free: so many are answered at once, and no more."""
    while True:
        for path in slots:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            os.close(descriptor)
        time.sleep(0.1)


def _die_with_parent() -> None:
    """For the engine's process: whoever ends us ends it, too."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def work(folder: Path) -> None:
    """Ask the engine and keep what it says."""
    limits = json.loads((folder / "limits.json").read_text(encoding="utf-8"))
    slot = _slot([Path(path) for path in limits["slots"]])
    part, asked = folder / "answer.part", folder / "request.json"
    with asked.open("rb") as request, part.open("wb") as output, (folder / "errors.log").open("ab") as errors:
        process = subprocess.Popen(
            ENGINE,
            stdin=request,
            stdout=output,
            stderr=errors,
            cwd=PROJECT_ROOT,
            preexec_fn=_die_with_parent,
        )
        try:
            code = str(process.wait(limits["seconds"]))
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.flush()
        os.fsync(output.fileno())
    os.close(slot)
    if part.stat().st_size:
        part.replace(folder / "answer.json")
    write_atomic(folder / "returncode", code)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m jobs.datasets.process FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    lock = take(folder / "lock")
    if lock is None or returncode(folder) is not None:
        return 1
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.nice(NICE)
    try:
        work(folder)
    finally:
        os.close(lock)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
