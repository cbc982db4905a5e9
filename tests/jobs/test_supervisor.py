"""A launched run needs neither its launcher nor Redis, and is found again when its supervisor dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from engine.run_folder import RunFolder
from engine.runner import Result, is_alive, request_stop
from jobs.announcer import stream_key
from jobs.supervisor import launch
from tests.made_runs import PROJECT_ROOT, SUCCEED, iterations, lives, made_run, stage, wait_until
from tests.valkey_server import ValkeyServer

COUNT = 200
TRAINING = f"""
for iteration in range(1, {COUNT} + 1):
    emitter.emit("metric", iteration=iteration)
    print("line", iteration)
    time.sleep(0.005)
wait_for("go")
{SUCCEED}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    folder = made_run(tmp_path / "23", stage("train", TRAINING, outputs=("output/model",)))
    yield folder
    if is_alive(folder):
        request_stop(folder, now=True)
        wait_until(lambda: not is_alive(folder))


@pytest.fixture
def server() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    server.start()
    yield server
    server.close()


def supervisor_pid(folder: RunFolder) -> int:
    """Of the living supervisor of a run."""

    def found() -> list[int]:
        command = f"-m\0jobs.supervisor\0{folder.path}\0".encode()
        return [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if path.parent.exists() and _command_line(path).endswith(command) and lives(int(path.parent.name))
        ]

    wait_until(lambda: len(found()) == 1)
    return found()[0]


def _command_line(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def wait_for_result(folder: RunFolder) -> Result:
    wait_until(lambda: folder.result.exists() and not is_alive(folder), seconds=30)
    result = Result.read(folder.result)
    assert result is not None
    return result


def kill_supervisor(folder: RunFolder) -> None:
    pid = supervisor_pid(folder)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not lives(pid))


def test_a_run_is_launched_once(folder: RunFolder) -> None:
    assert launch(folder) is True
    assert is_alive(folder)  # at once: the lock is handed over, not taken again
    assert launch(folder) is False
    (folder.path / "go").touch()
    assert wait_for_result(folder).state == "succeeded"
    assert launch(folder) is False  # it has ended
    assert iterations(folder) == list(range(1, COUNT + 1))


def test_a_run_outlives_its_launcher_and_its_launchers_terminal(folder: RunFolder) -> None:
    code = (
        "import sys; from engine.run_folder import RunFolder; from jobs.supervisor import launch; import os, signal\n"
    )
    code += "assert launch(RunFolder(sys.argv[1])); os.killpg(0, signal.SIGKILL)"
    launcher = subprocess.run(
        [sys.executable, "-c", code, str(folder.path)], cwd=PROJECT_ROOT, start_new_session=True, check=False
    )
    assert launcher.returncode == -signal.SIGKILL
    wait_until(lambda: iterations(folder))
    for number in (signal.SIGHUP, signal.SIGINT):
        os.kill(supervisor_pid(folder), number)
    (folder.path / "go").touch()
    assert wait_for_result(folder).state == "succeeded"


def test_a_killed_supervisor_is_replaced_and_no_fact_is_lost_or_told_twice(
    folder: RunFolder, server: ValkeyServer
) -> None:
    env = {"REDIS_URL": server.url}
    launch(folder, env=env)
    wait_until(lambda: len(iterations(folder)) > 20)
    kill_supervisor(folder)
    assert not is_alive(folder)
    assert launch(folder, env=env) is True
    (folder.path / "go").touch()
    assert wait_for_result(folder).state == "succeeded"
    assert iterations(folder) == list(range(1, COUNT + 1))
    for name in ("events.jsonl", "logs/train.0.log"):
        wait_until(lambda name=name: announced(server, name) == (folder.path / name).read_bytes())  # type: ignore[misc]


def test_a_killed_redis_hurts_neither_the_run_nor_what_is_announced_after(
    folder: RunFolder, server: ValkeyServer
) -> None:
    launch(folder, env={"REDIS_URL": server.url})
    wait_until(lambda: announced(server, "logs/train.0.log"))
    server.kill()
    wait_until(lambda: len(iterations(folder)) == COUNT)
    server.start()
    (folder.path / "go").touch()
    assert wait_for_result(folder).state == "succeeded"
    for name in ("events.jsonl", "logs/train.0.log"):
        path = folder.path / name
        wait_until(lambda path=path, name=name: head(server, name) == path.stat().st_size)  # type: ignore[misc]
        assert path.read_bytes().endswith(announced(server, name))


def test_the_flag_stops_a_launched_run(folder: RunFolder) -> None:
    launch(folder)
    wait_until(lambda: iterations(folder))
    request_stop(folder)
    result = wait_for_result(folder)
    assert (result.state, result.leftover_processes) == ("stopped", 0)


def test_term_to_the_supervisor_stops_the_run(folder: RunFolder) -> None:
    launch(folder)
    wait_until(lambda: iterations(folder))
    os.kill(supervisor_pid(folder), signal.SIGTERM)
    assert wait_for_result(folder).state == "stopped"


def test_the_supervisor_is_small_and_knows_no_django() -> None:
    code = (
        "import sys, jobs.supervisor; loaded = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'django', 'celery', 'torch', 'channels', 'numpy'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def head(server: ValkeyServer, name: str) -> int:
    """How far a file is announced."""
    last = cast(list[tuple[bytes, object]], server.client.xrevrange(stream_key("23", name), count=1))
    return int(last[0][0].split(b"-")[0]) if last else 0


def announced(server: ValkeyServer, name: str) -> bytes:
    """All that a stream holds, joined; each entry is asserted to follow the one before without a hole."""
    joined, head = b"", None
    for identity, fields in server.client.xrange(stream_key("23", name)):  # type: ignore[union-attr]
        end, data = int(identity.split(b"-")[0]), fields[b"d"]
        assert head is None or end - len(data) == head
        joined, head = joined + data, end
    return joined
