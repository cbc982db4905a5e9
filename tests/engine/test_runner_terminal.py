"""`python -m engine run` as a person at a terminal meets it: readable lines, Ctrl-C, exit codes."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.run_folder import RunFolder
from engine.runner import has_processes
from engine.runner.journal import Journal
from engine.runner.recovery import tell_restart
from engine.runner.terminal import TEXTS, EventPrinter, duration
from tests.made_runs import PROJECT_ROOT, SUCCEED, iterations, made_run, stage, wait_until

METRIC = """
emitter.emit("metric", iteration=50, total_iterations=100, consumed_samples=400, lm_loss=1.23456,
             elapsed_ms_per_iteration=1500.0, learning_rate=1e-5)
"""


def command(folder: RunFolder, language: str = "en") -> list[str]:
    code = (
        "import sys; from engine.run_folder import RunFolder; from engine.runner import run_in_terminal\n"
        "sys.exit(run_in_terminal(RunFolder(sys.argv[1]), language=sys.argv[2], grace_seconds=20))"
    )
    return [sys.executable, "-c", code, str(folder.path), language]


def run_command(folder: RunFolder, language: str = "en") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command(folder, language), cwd=PROJECT_ROOT, env=environment, capture_output=True, encoding="utf-8", check=False
    )


def test_iterations_are_shown_with_their_loss_and_the_time_left(tmp_path: Path) -> None:
    done = run_command(made_run(tmp_path / "1", stage("train", METRIC + SUCCEED)))
    assert done.returncode == 0
    assert "train: iteration 50/100  loss 1.2346  learning rate 1.00e-05  1500 ms  0:01:15 left" in done.stdout
    assert done.stdout.endswith(f"train: succeeded\nrun succeeded: {tmp_path}/1\n")


def test_a_failure_is_told_in_chinese_with_the_end_of_the_log(tmp_path: Path) -> None:
    done = run_command(made_run(tmp_path / "1", stage("train", "print('no such layer'); sys.exit(9)")), "zh-hans")
    assert done.returncode == 3
    assert "阶段 train 以退出码 9 结束" in done.stdout
    assert "no such layer" in done.stdout
    assert "运行失败" in done.stdout


def test_a_run_that_has_ended_is_not_told_again(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", METRIC + SUCCEED))
    run_command(folder)
    again = run_command(folder)
    assert again.returncode == 0
    assert again.stdout.splitlines() == [TEXTS["en"]["ended before"], f"run succeeded: {folder.path}"]


def test_a_run_that_failed_goes_on_when_the_same_line_is_typed_again(tmp_path: Path) -> None:
    code = f"wait = run_dir / 'go'\nif not wait.exists(): wait.touch(); sys.exit(9)\n{METRIC}{SUCCEED}"
    folder = made_run(tmp_path / "1", stage("train", code, outputs=("output/model",)))
    assert run_command(folder).returncode == 3
    again = run_command(folder)
    assert again.returncode == 0
    assert again.stdout.splitlines()[0] == "this run had failed; it goes on from where it was"
    assert again.stdout.endswith(f"train: succeeded\nrun succeeded: {folder.path}\n")


def test_an_interruption_is_told_in_the_readers_language(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.create()
    out = io.StringIO()
    printer = EventPrinter(folder, "zh-hans", out)
    journal = Journal(folder)
    assert tell_restart(journal, folder, "train")
    journal.close()
    printer.on_change(folder.events)
    (line,) = out.getvalue().splitlines()
    assert "从第 0 次迭代继续" in line


def test_ctrl_c_stops_the_run_with_exit_code_130(tmp_path: Path) -> None:
    code = "emitter.emit('metric', iteration=1); wait_for('never')"
    folder = made_run(tmp_path / "1", stage("train", code))
    ours, theirs = pty.openpty()
    runner = subprocess.Popen(
        ["setsid", "--ctty", *command(folder)], cwd=PROJECT_ROOT, stdin=theirs, stdout=subprocess.PIPE
    )
    os.close(theirs)
    wait_until(lambda: iterations(folder) == [1])
    os.write(ours, b"\x03")
    output, _ = runner.communicate(timeout=20)
    os.close(ours)
    assert runner.returncode == 130
    assert output.endswith(f"train: stopped\nrun stopped: {folder.path}\n".encode())
    assert not has_processes(folder)


def test_a_closed_terminal_ends_the_runner_but_not_the_training(tmp_path: Path) -> None:
    code = f"emitter.emit('metric', iteration=1); wait_for('go'); {SUCCEED}"
    folder = made_run(tmp_path / "1", stage("train", code, outputs=("output/model",)))
    runner = subprocess.Popen(command(folder), cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL)
    wait_until(lambda: iterations(folder) == [1])
    runner.send_signal(signal.SIGHUP)
    assert runner.wait(20) == -signal.SIGHUP
    assert has_processes(folder)
    (folder.path / "go").touch()
    again = run_command(folder)
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, TEXTS["en"]["taken over"])


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_kind_of_event_has_its_line(tmp_path: Path, language: str) -> None:
    folder = RunFolder(tmp_path)
    folder.create()
    out = io.StringIO()
    printer = EventPrinter(folder, language, out)
    journal = Journal(folder)
    journal.add("started", "train", argv=["python"], pid=7)
    journal.add("log", "train", text="a remark")
    journal.add("progress", "train", done=3, total=None, unit="rows", seconds_left=61.2)
    journal.add("metric", "train", iteration=1, total_iterations=None, lm_loss=float("nan"))
    journal.add("checkpoint", "train", iteration=10, path="checkpoints/iter_0000010")
    problem = {"code": "stage.killed", "field": "", "parameters": {"stage": "train", "signal": "SIGKILL", "log": "x"}}
    journal.add("problem", "train", problem=problem)
    journal.add("finished", "train", state="failed", returncode=137)
    journal.close()
    printer.on_change(folder.events)
    lines = out.getvalue().splitlines()
    assert len(lines) == 7
    assert "0:01:01" in lines[2]
    assert "NaN" in lines[3]


def test_the_languages_have_the_same_texts() -> None:
    assert TEXTS["en"].keys() == TEXTS["zh-hans"].keys()


def test_a_duration_is_hours_minutes_and_seconds() -> None:
    assert [duration(value) for value in (None, 0, 61.4, 3725, 360000)] == [
        "?",
        "0:00:00",
        "0:01:01",
        "1:02:05",
        "100:00:00",
    ]
