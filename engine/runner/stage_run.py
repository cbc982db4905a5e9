"""`StageRun`: one stage from its start, or from where a dead runner left it, to its verdict."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.frameworks.placeholders import fill, of_installations
from engine.plan import Plan, Stage
from engine.problems import Problem
from engine.run_folder import RunFolder, write_atomic
from engine.runner.folding import end_half_line, fold
from engine.runner.following import Follower
from engine.runner.journal import Journal
from engine.runner.judging import finding, not_started
from engine.runner.launching import (
    CannotStart,
    emitted_path,
    forget_start,
    returncode_path,
    start,
    values_of,
    write_files,
)
from engine.runner.locks import has_processes
from engine.runner.processes import Members, Process
from engine.runner.recovery import tell_restart
from engine.runner.result import EndState
from engine.runner.signals import stop_now_requested, stop_requested
from engine.runner.watching import Watch
from engine.spec import JobSpec, canonical_json
from engine.stage_file import StageFile

BEAT_SECONDS = 0.05
SCAN_SECONDS = 0.2
"""Between two searches of /proc, which cost more than a beat."""
SETTLE_SECONDS = 5.0
"""How long processes may outlive the command that ended by itself."""
FULL_DISK_SECONDS = 1.0
KILL_SECONDS = 10.0
"""How long to insist on KILL before admitting that processes are left over."""
STOPPING = "stopping: the processes are asked to end, and killed when the grace time is over"
SWEPT = "processes that outlived their command were killed"


@dataclass(frozen=True)
class Context:
    """What all stages of a run share."""

    folder: RunFolder
    spec: JobSpec
    plan: Plan
    journal: Journal
    watch: Watch
    grace_seconds: float
    roots: tuple[str, ...] | None = None
    """See `StageFile`."""


@dataclass(frozen=True)
class Outcome:
    state: EndState
    stage: str
    returncode: int | None = None
    leftover_processes: int = 0


class StageRun:
    def __init__(self, context: Context, stage: Stage) -> None:
        self._context = context
        self._folder = context.folder
        self._stage = stage
        self._index = 0
        self._members = Members(context.folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._kill_at: float | None = None
        self._follower = self._make_follower()

    @cached_property
    def _values(self) -> dict[str, str]:
        """Of the placeholders in the stage's commands and files."""
        return values_of(self._folder, self._stage.name) | of_installations((self._stage,), os.environ)

    def _make_follower(self) -> Follower | None:
        """For a stage whose processes are a framework's, which emits nothing."""
        if not self._stage.follows_log:
            return None
        name = self._stage.name
        return Follower(self._context.journal, name, self._context.spec.framework, self._folder.log(name))

    def run(self) -> Outcome:
        """Start or adopt; return when no process is left."""
        self._adopt()
        if self._members.leader is None and stop_requested(self._folder):
            return Outcome("stopped", self._stage.name)
        found_dead = self._members.leader is not None and self._has_ended()
        try:
            self._run_commands()
            if found_dead and self._may_restart():
                self._restart()
        except CannotStart as error:
            return self._conclude(None, not_started(self._stage, str(error)))
        returncode = self._returncode()
        return self._conclude(returncode, finding(self._folder, self._stage, returncode))

    def _may_restart(self) -> bool:
        """Whether the stage was cut off, and not by us: its processes are gone and have left no return code."""
        wanted = self._context.spec.train.resume.auto_recovery and not stop_requested(self._folder)
        return wanted and self._returncode() is None and not self._is_stopping() and not self._leftover()

    def _restart(self) -> None:
        if not tell_restart(self._context.journal, self._folder, self._stage.name):
            return
        forget_start(self._folder, self._stage.name)
        self.__dict__.pop("_values", None)  # another port
        self._members = Members(self._folder)
        self._index = 0
        self._run_commands()

    def _run_commands(self) -> None:
        if self._members.leader is None:
            self._kill_rest()  # of a start that got no further than its shell
            self._start(0)
        self._follow()
        while self._returncode() == 0 and self._index + 1 < len(self._stage.commands) and not self._is_stopping():
            self._start(self._index + 1)
            self._follow()

    def _adopt(self) -> None:
        """Find the process that an earlier runner started; it may have ended since."""
        path = self._folder.stage(self._stage.name) / "process.json"
        deadline = time.monotonic() + SETTLE_SECONDS
        while (record := _record(path)) is None:
            if not has_processes(self._folder) or time.monotonic() > deadline:
                return
            time.sleep(BEAT_SECONDS)  # its wrapper is about to write it
        self._members.leader = Process(record["pid"], record["start_time"])
        self._index = record["command"]
        self._tell_started(record["pid"])

    def _start(self, index: int) -> None:
        folder, stage = self._folder, self._stage
        folder.stage(stage.name).mkdir(parents=True, exist_ok=True)
        context = self._context
        file = StageFile(
            stage=stage.name,
            run_dir=str(folder.path),
            spec=context.spec,
            layout=context.plan.layout,
            batch=context.plan.batch,
            roots=context.roots,
        )
        write_atomic(folder.stage(stage.name) / "stage.json", canonical_json(file))
        end_half_line(emitted_path(folder, stage.name))
        end_half_line(folder.log(stage.name))
        if index == 0:
            write_files(folder, stage, self._values)
        self._index = index
        self._process = start(folder, stage.name, stage.commands[index], index, self._values)
        self._members.leader = Process.of(self._process.pid)
        self._tell_started(self._process.pid)

    def _tell_started(self, pid: int) -> None:
        argv = [fill(word, self._values) for word in self._stage.commands[self._index].argv]
        self._context.journal.add_once("started", self._stage.name, argv=argv, pid=pid)

    def _follow(self) -> None:
        """Until the command has ended and its last process is gone."""
        while not self._has_ended():
            if stop_requested(self._folder):
                self._stop()
            self._beat()
        self._settle()
        self._kill_rest()
        self._beat()

    def _beat(self, seconds: float = BEAT_SECONDS) -> None:
        try:
            if self._follower is None:
                fold(self._context.journal, self._stage.name, emitted_path(self._folder, self._stage.name))
            else:
                self._follower.look()
        except OSError as error:  # the disk is full: what was emitted waits in its own file
            print(f"cannot fold: {error}", file=sys.stderr, flush=True)
            seconds = max(seconds, FULL_DISK_SECONDS)
        self._context.watch.look()
        if self._process is not None:
            self._process.poll()
        time.sleep(seconds)

    def _has_ended(self) -> bool:
        return self._members.leader is None or not self._members.leader.lives()

    def _returncode(self) -> int | None:
        try:
            return int(returncode_path(self._folder, self._stage.name, self._index).read_text())
        except FileNotFoundError:
            return None

    def _stop(self) -> None:
        """TERM at first; KILL when the grace time is over or nobody wants to wait."""
        if self._kill_at is None:
            self._context.journal.add_once("log", self._stage.name, text=STOPPING)
            self._kill_at = time.monotonic() + self._context.grace_seconds
            self._members.send(signal.SIGTERM)
        if time.monotonic() >= self._kill_at or stop_now_requested(self._folder):
            self._members.send(signal.SIGKILL)

    def _is_stopping(self) -> bool:
        """Whether the processes were asked to end before they ended by themselves."""
        return self._context.journal.has("log", self._stage.name, text=STOPPING)

    def _settle(self) -> None:
        """Let the last processes end by themselves, for a while."""
        deadline = self._kill_at or time.monotonic() + SETTLE_SECONDS
        while self._members.living() and time.monotonic() < deadline:
            if stop_now_requested(self._folder):
                return
            self._beat(SCAN_SECONDS)

    def _kill_rest(self) -> None:
        deadline = time.monotonic() + KILL_SECONDS
        while self._members.send(signal.SIGKILL) and time.monotonic() < deadline:
            self._context.journal.add_once("log", self._stage.name, text=SWEPT)
            self._beat()

    def _conclude(self, returncode: int | None, problem: Problem | None) -> Outcome:
        name, journal = self._stage.name, self._context.journal
        if self._is_stopping() or (problem is not None and stop_requested(self._folder)):
            state: EndState = "stopped"
        elif problem is not None:
            state = "failed"
            journal.add_once("problem", name, problem=problem.model_dump(mode="json"))
        else:
            state = "succeeded"
        journal.add_once("finished", name, state=state, returncode=returncode)
        journal.sync()
        if state == "succeeded":
            write_atomic(self._folder.stage(name) / "done", "")
        return Outcome(state, name, returncode, self._leftover())

    def _leftover(self) -> int:
        return max(len(self._members.living()), int(has_processes(self._folder)))


def _record(path: Path) -> dict[str, int] | None:
    """Who was started; None where nobody was, or where a power cut has left the file empty."""
    try:
        record: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
        return record
    except (FileNotFoundError, ValueError):
        return None
