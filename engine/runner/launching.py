"""Starts a stage's command so that it needs no living runner.

A shell stands before the command: it leads the session, writes process.json before and the return
code after, and outlives TERM and INT to do so. Output goes to the log file without a pipe.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from engine.events import EMIT_VARIABLE
from engine.plan import Command
from engine.run_folder import RunFolder
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
    for left in (folder.stage(stage) / "process.json", *folder.stage(stage).glob("returncode*")):
        left.unlink(missing_ok=True)


def start(folder: RunFolder, stage: str, command: Command, index: int) -> subprocess.Popen[bytes]:
    """Start a command of a stage in its own session, holding train.lock."""
    lock = take(folder.train_lock)
    if lock is None:
        raise CannotStart(f"{folder.train_lock} is held by processes of an earlier stage")
    code = returncode_path(folder, stage, index).name
    wrapper = ["/bin/sh", "-c", WRAPPER, "trainyard-stage", str(folder.stage(stage)), str(index), code]
    log = os.open(folder.log(stage), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        return subprocess.Popen(
            wrapper + [filled(word, folder) for word in command.argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(folder, stage, command),
            cwd=command.cwd and filled(command.cwd, folder),
            pass_fds=(lock,),
            start_new_session=True,
        )
    except OSError as error:
        raise CannotStart(str(error)) from error
    finally:
        os.close(log)
        os.close(lock)


def filled(text: str, folder: RunFolder) -> str:
    return text.replace("{python}", sys.executable).replace("{run_dir}", str(folder.path))


def environment(folder: RunFolder, stage: str, command: Command) -> dict[str, str]:
    """What the command inherits, with the project importable and the run's marks."""
    inherited = {name: value for name, value in os.environ.items() if name not in PRIVATE}
    search = [str(PROJECT_ROOT), *filter(None, [inherited.get("PYTHONPATH")])]
    own = {
        "PYTHONPATH": os.pathsep.join(search),
        "PYTHONUNBUFFERED": "1",
        EMIT_VARIABLE: str(emitted_path(folder, stage)),
        MARK: str(folder.path.resolve()),
    }
    return inherited | own | {name: filled(value, folder) for name, value in command.env.items()}
