"""Stopping leaves no process behind, whatever the processes do against it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.run_folder import RunFolder
from engine.runner import Result, has_processes, request_stop, run
from tests.made_runs import SUCCEED, events, facts, lives, made_run, stage, start_runner, wait_until

SAVE_ON_TERM = f"""
def save(number, frame):
    emitter.emit("checkpoint", iteration=3, path="checkpoints/iter_0000003")
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
print("ready")
wait_for("never")
{SUCCEED}
"""
STUBBORN = """
def say(pid):
    os.write(1, b"pid %d\\n" % pid)   # at once: several processes write
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:            # keeps the lock, leaves the session
    os.setsid()
    if os.fork() == 0:
        say(os.getpid())
        wait_for("never")
    os._exit(0)
sleeper = subprocess.Popen(["sleep", "1000"], start_new_session=True)   # keeps only the environment
subprocess.run(["sh", "-c", "sleep 1000 & echo pid $!"], env={})        # keeps only the session
gone = subprocess.Popen(["sh", "-c", "trap : TERM; while :; do sleep 0.1; done"], env={}, start_new_session=True)
say(gone.pid)                                                  # keeps only its parent
say(sleeper.pid)
say(os.getpid())
wait_for("never")
"""


@contextmanager
def running(folder: RunFolder, grace_seconds: float) -> Iterator[threading.Thread]:
    runner = threading.Thread(target=run, args=(folder,), kwargs={"grace_seconds": grace_seconds})
    runner.start()
    try:
        yield runner
    finally:
        request_stop(folder, now=True)
        runner.join()


def log_of(folder: RunFolder) -> str:
    log = folder.log("train")
    return log.read_text() if log.exists() else ""


def result_of(folder: RunFolder) -> Result:
    result = Result.read(folder.result)
    assert result is not None
    return result


def test_a_stop_lets_the_training_save_its_checkpoint(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", SAVE_ON_TERM), stage("export", "pass"))
    with running(folder, grace_seconds=60) as runner:
        wait_until(lambda: "ready" in log_of(folder))
        request_stop(folder)
        runner.join(20)
        assert not runner.is_alive()
    result = result_of(folder)
    assert (result.state, result.returncode, result.stage, result.leftover_processes) == ("stopped", 143, "train", 0)
    assert [data["iteration"] for _, data in facts(folder, "checkpoint")] == [3]
    assert facts(folder, "problem") == []
    assert not folder.stage("export").exists()


def test_nobody_is_left_of_processes_that_ignore_term_and_hide(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", STUBBORN))
    with running(folder, grace_seconds=0.3) as runner:
        wait_until(lambda: log_of(folder).count("pid") == 5)
        pids = [int(line.split()[1]) for line in log_of(folder).splitlines()]
        assert all(lives(pid) for pid in pids)
        request_stop(folder)
        runner.join(20)
        assert not runner.is_alive()
    assert [pid for pid in pids if lives(pid)] == []
    assert not has_processes(folder)
    assert (result_of(folder).state, result_of(folder).leftover_processes) == ("stopped", 0)


def test_a_second_wish_to_stop_does_not_wait_for_the_grace_time(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", STUBBORN))
    with running(folder, grace_seconds=3600) as runner:
        wait_until(lambda: log_of(folder).count("pid") == 5)
        request_stop(folder)
        wait_until(lambda: facts(folder, "log"))
        request_stop(folder, now=True)
        runner.join(20)
        assert not runner.is_alive()
    assert result_of(folder).state == "stopped"


def test_term_to_the_runner_stops_the_run(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", SAVE_ON_TERM))
    runner = start_runner(folder)
    wait_until(lambda: "ready" in log_of(folder))
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(20) == 0
    assert (result_of(folder).state, result_of(folder).returncode) == ("stopped", 143)


def test_a_runner_killed_while_it_stops_has_its_work_finished_by_the_next(tmp_path: Path) -> None:
    code = "signal.signal(signal.SIGTERM, lambda *_: None); print('ready'); wait_for('go')"
    folder = made_run(tmp_path / "1", stage("train", code))
    runner = start_runner(folder)
    wait_until(lambda: "ready" in log_of(folder))
    request_stop(folder)
    wait_until(lambda: facts(folder, "log"))
    runner.kill()
    runner.wait()
    (folder.path / "go").touch()  # it ends with 0, but because it was asked to
    wait_until(lambda: not has_processes(folder))
    assert run(folder).state == "stopped"


def test_a_stop_before_the_start_starts_nothing(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", SUCCEED))
    request_stop(folder)
    assert run(folder).state == "stopped"
    assert [event["kind"] for event in events(folder)] == ["started", "finished"]


def test_a_failure_after_the_wish_to_stop_is_a_stop(tmp_path: Path) -> None:
    folder = made_run(
        tmp_path / "1", stage("train", "(run_dir / 'stop').touch(); os.kill(os.getpid(), signal.SIGKILL)")
    )
    assert run(folder, grace_seconds=0).state == "stopped"


def test_a_process_that_has_kept_nothing_but_the_lock_is_swept_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.runner.stage_run.SETTLE_SECONDS", 0.3)
    options = "env={}, start_new_session=True, close_fds=False"
    code = f"print(subprocess.Popen(['sleep', '1000'], {options}).pid)"
    folder = made_run(tmp_path / "1", stage("train", code))
    assert run(folder).leftover_processes == 0
    assert not lives(int(log_of(folder)))


@pytest.mark.parametrize("detached", [True, False])
def test_processes_that_outlive_a_command_are_swept_away(
    tmp_path: Path, detached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.runner.stage_run.SETTLE_SECONDS", 0.3)
    code = f"print(subprocess.Popen(['sleep', '1000'], start_new_session={detached}).pid); {SUCCEED}"
    folder = made_run(tmp_path / "1", stage("train", code))
    started = time.monotonic()
    result = run(folder)
    assert (result.state, result.leftover_processes) == ("succeeded", 0)
    assert time.monotonic() - started < 15
    assert not lives(int(log_of(folder)))
    assert "outlived" in facts(folder, "log")[0][1]["text"]
