"""A whole site of real processes for tests: `manage.py demo` on a data folder of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from tests.servers import wait_until
from tests.source import ROOT

SERVING = re.compile(r"Trainyard serves at\s+(\S+)")
PARTS = {"web": "uvicorn", "worker": "celery", "redis": "valkey-server|redis-server", "reconciler": "reconcile"}


class Site:
    """Start, look at, hurt and stop a demo."""

    def __init__(self, *arguments: str) -> None:
        self.data_dir = Path(tempfile.mkdtemp(prefix="ty-site-"))
        self.arguments = arguments
        self.address = ""
        self._output = self.data_dir / "terminal.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *more: str) -> None:
        """Start it and wait until it serves."""
        before = len(self.output())
        with self._output.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "demo", "--port", "18000", *self.arguments, *more],
                cwd=ROOT,
                env=self.environment(),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        found = wait_until(lambda: SERVING.search(self.output()[before:]) or self.has_ended(), 90, "the site's address")
        assert isinstance(found, re.Match), self.output()
        self.address = found[1]

    def environment(self) -> dict[str, str]:
        """Ours, without what the tests' own settings have put there."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRAINYARD_", "DJANGO_"))}
        for name in ("DATABASE_URL", "REDIS_URL", "LANGUAGE", "LC_ALL", "LC_MESSAGES"):
            kept.pop(name, None)
        return kept | {"TRAINYARD_DATA_DIR": str(self.data_dir), "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}

    def output(self) -> str:
        return self._output.read_text(encoding="utf-8") if self._output.exists() else ""

    def has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def passwords(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.data_dir / "run" / "logins.json").read_text(encoding="utf-8"))
        return found

    def processes(self) -> list[psutil.Process]:
        """Everything that the supervisor has started, and what that has started; trainings have left this tree."""
        assert self.process is not None
        return psutil.Process(self.process.pid).children(recursive=True)

    def part(self, name: str) -> psutil.Process:
        """The main process of one part of the site."""
        assert self.process is not None
        for child in psutil.Process(self.process.pid).children():
            if re.search(PARTS[name], " ".join(child.cmdline())):
                return child
        raise LookupError(name)

    def kill_part(self, name: str) -> int:
        """kill -9 one part; returns its process id."""
        part = self.part(name)
        part.kill()
        return part.pid

    def wait_for_new(self, name: str, old: int) -> None:
        """Until the supervisor has started that part again."""

        def is_new() -> bool:
            try:
                return self.part(name).pid != old
            except (LookupError, psutil.Error):
                return False

        wait_until(is_new, 30, f"a new {name}")

    def interrupt(self) -> int:
        """As Ctrl-C does; returns the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(40)

    def stop(self) -> None:
        """Leave nothing behind, trainings included."""
        if self.process is not None and not self.has_ended():
            self.interrupt()
        stop = [sys.executable, "manage.py", "demo", "--stop-jobs"]
        subprocess.run(stop, cwd=ROOT, env=self.environment(), check=True, capture_output=True)
        shutil.rmtree(self.data_dir, ignore_errors=True)

    def events(self, run: int) -> list[dict[str, object]]:
        lines = (self.data_dir / "runs" / str(run) / "events.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
