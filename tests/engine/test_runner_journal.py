"""The journal on a disk that is full: no half line, no hole in the numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from engine.run_folder import RunFolder
from engine.runner.journal import Journal
from tests.made_runs import PROJECT_ROOT, events

FULL_DISK = """
import resource, sys
from engine.run_folder import RunFolder
from engine.runner.journal import Journal
journal = Journal(RunFolder(sys.argv[1]))
journal.add("log", text="before")
size = RunFolder(sys.argv[1]).events.stat().st_size
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, most))   # room for a part of the line only
try:
    journal.add("log", text="too much")
except OSError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
journal.add("log", text="after")
"""


def test_an_event_that_does_not_fit_on_the_disk_is_not_written_by_half(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.create()
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(folder.path)],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "cannot grow" in done.stdout
    assert folder.events.read_bytes().endswith(b"\n")
    assert [(event["seq"], event["data"]["text"]) for event in events(folder)] == [(1, "before"), (2, "after")]


def test_a_journal_goes_on_with_the_numbers_of_the_one_before(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.create()
    for _ in range(3):
        journal = Journal(folder)
        journal.add("log", text="again")
        journal.add_once("log", text="once")
        journal.close()
    assert [event["seq"] for event in events(folder)] == [1, 2, 3, 4]
