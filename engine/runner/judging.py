"""Whether a stage has succeeded: return code 0 and every declared output there. Exit status 0 alone is not success."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from engine.disk import is_full, says_full
from engine.plan import Stage
from engine.problems import Fault, Problem
from engine.run_folder import RunFolder

TAIL_LINES = 20
TAIL_BYTES = 4096


def is_done(folder: RunFolder, stage: Stage) -> bool:
    """Whether the stage has its marker and its outputs are still there."""
    return (folder.stage(stage.name) / "done").exists() and first_missing(folder, stage) is None


def first_missing(folder: RunFolder, stage: Stage) -> str | None:
    """The first declared output that does not exist or is empty."""
    return next((output for output in stage.outputs if not _is_there(folder.path, output)), None)


def finding(folder: RunFolder, stage: Stage, returncode: int | None) -> Problem | None:
    """Why the stage did not succeed; None when it did. `returncode` null: killed together with its wrapper."""
    if returncode != 0 and (is_full(folder.path) or says_full(log_tail(folder.log(stage.name)))):
        return _problem(folder, stage, "disk.full", "site", reason=str(folder.path))
    if (killed := _killed_rank(folder, stage)) and returncode == 1:
        return _problem(folder, stage, "stage.killed", signal=killed)
    if returncode is None or 128 < returncode <= 128 + signal.SIGRTMAX:
        return _problem(folder, stage, "stage.killed", signal=_signal_name(returncode))
    if returncode != 0:
        return _problem(folder, stage, "stage.failed", returncode=returncode)
    missing = first_missing(folder, stage)
    if missing is None:
        return None
    if is_full(folder.path):
        return _problem(folder, stage, "disk.full", "site", reason=str(folder.path))
    return _problem(folder, stage, "stage.output_missing", path=missing)


def not_started(stage: Stage, reason: str) -> Problem:
    """The command could not even be started."""
    return Problem(
        code="stage.cannot_start", field="", parameters={"stage": stage.name, "reason": reason}, fault="site"
    )


def log_tail(path: Path) -> str:
    """The last lines of a log, for a person to read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-TAIL_LINES:])


def _killed_rank(folder: RunFolder, stage: Stage) -> str:
    """The signal that ended one of several ranks, as torchrun tells it; empty if none did."""
    found = re.search(r"Signal \d+ \((SIG[A-Z]+)\) received by PID", log_tail(folder.log(stage.name)))
    return found[1] if found is not None and found[1] != "SIGTERM" else ""


def _problem(
    folder: RunFolder, stage: Stage, code: str, fault: Fault = "software", /, **parameters: str | int
) -> Problem:
    log = folder.log(stage.name)
    known = {"stage": stage.name, "log": str(log.relative_to(folder.path)), "log_tail": log_tail(log)}
    return Problem(code=code, field="", parameters={**known, **parameters}, fault=fault)


def _signal_name(returncode: int | None) -> str:
    if returncode is None:
        return "SIGKILL"
    try:
        return signal.Signals(returncode - 128).name
    except ValueError:
        return str(returncode - 128)


def _is_there(path: Path, output: str) -> bool:
    """A name with * stands for any file that it fits: large weights come in pieces and with an index."""
    found = path.glob(output) if "*" in output else [path / output]
    return any(map(_has_content, found))


def _has_content(path: Path) -> bool:
    if path.is_dir():
        return any(path.iterdir())
    return path.is_file() and path.stat().st_size > 0
