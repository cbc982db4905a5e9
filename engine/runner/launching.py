"""Starts a stage's command so that it needs no living runner.

A shell stands before the command: it leads the session, writes process.json before and the return
code after, and outlives TERM and INT to do so. Output goes to the log file without a pipe.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from engine.events import EMIT_VARIABLE
from engine.frameworks.placeholders import fill, fill_file
from engine.plan import Command, Stage
from engine.run_folder import RunFolder, write_atomic
from engine.runner.locks import take
from engine.runner.processes import MARK

PROJECT_ROOT = Path(__file__).resolve().parents[2]
PRIVATE = ("TRAINYARD_SECRET_KEY", "DATABASE_URL", "REDIS_URL", "TRAINYARD_LOCK_DESCRIPTOR")
"""The site's own settings; a training has no business with them."""
WRAPPER = """
trap : TERM INT HUP
folder=$1 index=$2 code=$3
shift 3
start=$(cut -d' ' -f22 "/proc/$$/stat")
printf '{"pid": %s, "start_time": %s, "command": %s}\\n' "$$" "$start" "$index" > "$folder/process.json.tmp"
mv -f "$folder/process.json.tmp" "$folder/process.json"
"$@"
printf '%s\\n' "$?" > "$folder/$code.tmp"
mv -f "$folder/$code.tmp" "$folder/$code"
"""


class CannotStart(Exception):
    """The command could not be started at all."""


def returncode_path(folder: RunFolder, stage: str, index: int) -> Path:
    """Where the wrapper of the stage's command number `index` writes its return code."""
    return folder.stage(stage) / ("returncode" if index == 0 else f"returncode.{index}")


def emitted_path(folder: RunFolder, stage: str) -> Path:
    return folder.stage(stage) / "emitted.jsonl"


def forget_start(folder: RunFolder, stage: str) -> None:
    """Take away what an earlier start has left, so that nobody takes it for the next one's."""
    own = folder.stage(stage)
    for left in (own / "process.json", own / "master_port", *own.glob("returncode*")):
        left.unlink(missing_ok=True)


def start(
    folder: RunFolder, stage: str, command: Command, index: int, values: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a command of a stage in its own session, holding train.lock. values: of the placeholders."""
    lock = take(folder.train_lock)
    if lock is None:
        raise CannotStart(f"{folder.train_lock} is held by processes of an earlier stage")
    code = returncode_path(folder, stage, index).name
    wrapper = ["/bin/sh", "-c", WRAPPER, "trainyard-stage", str(folder.stage(stage)), str(index), code]
    log = os.open(folder.log(stage), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        return subprocess.Popen(
            wrapper + [fill(word, values) for word in command.argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(folder, stage, command, values),
            cwd=command.cwd and fill(command.cwd, values),
            pass_fds=(lock,),
            start_new_session=True,
        )
    except OSError as error:
        raise CannotStart(str(error)) from error
    finally:
        os.close(log)
        os.close(lock)


def values_of(folder: RunFolder, stage: str) -> dict[str, str]:
    """Of the placeholders that every node can fill in for a stage (`engine.frameworks.placeholders`)."""
    return {
        "{python}": sys.executable,
        "{run_dir}": str(folder.path),
        "{node_rank}": "0",
        "{master_addr}": "127.0.0.1",
        "{master_port}": _master_port(folder.stage(stage) / "master_port"),
    }


def _master_port(path: Path) -> str:
    """A port that was free when the stage was first started, and is remembered for whoever takes it over."""
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        write_atomic(path, port)
        return port


def write_files(folder: RunFolder, stage: Stage, values: Mapping[str, str]) -> None:
    """Write what the stage's commands read."""
    for name, text in stage.files.items():
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, fill_file(name, text, values))


def environment(folder: RunFolder, stage: str, command: Command, values: Mapping[str, str]) -> dict[str, str]:
    """What the command inherits, with the project importable and the run's marks."""
    inherited = {name: value for name, value in os.environ.items() if name not in PRIVATE}
    search = [str(PROJECT_ROOT), *filter(None, [inherited.get("PYTHONPATH")])]
    own = {
        "PYTHONPATH": os.pathsep.join(search),
        "PYTHONUNBUFFERED": "1",
        EMIT_VARIABLE: str(emitted_path(folder, stage)),
        MARK: str(folder.path.resolve()),
    }
    return inherited | own | {name: fill(value, values) for name, value in command.env.items()}
