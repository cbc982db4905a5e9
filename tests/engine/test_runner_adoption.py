"""What a new runner does with what a dead one has left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.run_folder import RunFolder
from engine.runner import has_processes, is_alive, request_stop, run
from tests.made_runs import (
    SUCCEED,
    events,
    facts,
    iterations,
    lives,
    made_run,
    stage,
    start_runner,
    training_pid,
    wait_until,
)

COUNT = 300
TRAINING = f"""
for iteration in range(1, {COUNT} + 1):
    emitter.emit("metric", iteration=iteration)
    print("line", iteration)
    time.sleep(0.005)
{SUCCEED}
"""


def killed_while_training(folder: RunFolder) -> None:
    """Start a runner and kill it as soon as the training has begun."""
    runner = start_runner(folder)
    wait_until(lambda: iterations(folder))
    runner.kill()
    runner.wait()
    assert not is_alive(folder)


def test_a_runner_killed_again_and_again_leaves_every_fact_once_and_in_order(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", TRAINING, outputs=("output/model",)))
    for _ in range(4):
        seen = len(iterations(folder))
        runner = start_runner(folder)
        wait_until(lambda seen=seen: len(iterations(folder)) > seen or folder.result.exists())  # type: ignore[misc]
        runner.kill()
        runner.wait()
    result = run(folder)
    assert (result.state, result.returncode) == ("succeeded", 0)
    assert iterations(folder) == list(range(1, COUNT + 1))
    assert [event["seq"] for event in events(folder)] == list(range(1, len(events(folder)) + 1))
    assert folder.log("train").read_text().split() == " ".join(f"line {i}" for i in range(1, COUNT + 1)).split()
    assert [name for name, _ in facts(folder, "started")] == ["", "train"]


def test_a_living_training_is_taken_over_and_not_started_again(tmp_path: Path) -> None:
    code = f"emitter.emit('metric', iteration=1); wait_for('go'); emitter.emit('metric', iteration=2); {SUCCEED}"
    folder = made_run(tmp_path / "1", stage("train", code, outputs=("output/model",)))
    killed_while_training(folder)
    pid = training_pid(folder)
    assert lives(pid)
    assert has_processes(folder)
    (folder.path / "go").touch()
    assert run(folder).state == "succeeded"
    assert training_pid(folder) == pid
    assert iterations(folder) == [1, 2]
    assert not has_processes(folder)


def test_a_training_that_ended_alone_is_judged_by_its_return_code(tmp_path: Path) -> None:
    code = (
        f"emitter.emit('metric', iteration=1); wait_for('go'); {SUCCEED}; sys.exit(int((run_dir / 'go').read_text()))"
    )
    for code_of_process, state in ((0, "succeeded"), (5, "failed")):
        folder = made_run(tmp_path / state, stage("train", code, outputs=("output/model",)))
        killed_while_training(folder)
        (folder.path / "go.tmp").write_text(str(code_of_process))
        (folder.path / "go.tmp").rename(folder.path / "go")
        wait_until(lambda folder=folder: not has_processes(folder))  # type: ignore[misc]
        result = run(folder)
        assert (result.state, result.returncode) == (state, code_of_process)


@pytest.mark.parametrize("half", [b'{"seq":99,"ti', b"\xe4\xb8"])
def test_a_half_written_event_is_taken_back_and_told_again(tmp_path: Path, half: bytes) -> None:
    code = f"emitter.emit('metric', iteration=1); wait_for('go'); emitter.emit('metric', iteration=2); {SUCCEED}"
    folder = made_run(tmp_path / "1", stage("train", code))
    killed_while_training(folder)
    with folder.events.open("ab") as file:
        file.write(half)
    (folder.path / "go").touch()
    assert run(folder).state == "succeeded"
    assert iterations(folder) == [1, 2]


def test_a_fact_whose_event_was_cut_off_is_folded_again(tmp_path: Path) -> None:
    code = "emitter.emit('metric', iteration=1); wait_for('go')"
    folder = made_run(tmp_path / "1", stage("train", code))
    killed_while_training(folder)
    os.truncate(folder.events, folder.events.stat().st_size - 1)  # all of the event but its line end
    assert iterations(folder) == []
    (folder.path / "go").touch()
    assert run(folder).state == "succeeded"
    assert iterations(folder) == [1]


def test_a_stage_that_was_done_is_not_done_again(tmp_path: Path) -> None:
    once = "file = run_dir / 'data' / 'count'; file.write_text('x' + (file.read_text() if file.exists() else ''))"
    folder = made_run(
        tmp_path / "1",
        stage("preprocess", once, outputs=("data/count",)),
        stage("train", f"emitter.emit('metric', iteration=1); wait_for('go'); {SUCCEED}"),
    )
    killed_while_training(folder)
    (folder.path / "go").touch()
    assert run(folder).state == "succeeded"
    assert (folder.data / "count").read_text() == "x"
    assert [name for name, _ in facts(folder, "finished")] == ["preprocess", "train", ""]


@pytest.mark.parametrize(("later_stages", "state"), [((), "succeeded"), (("export",), "stopped")])
def test_a_stop_that_comes_after_the_end_counts_only_when_work_is_left(
    tmp_path: Path, later_stages: tuple[str, ...], state: str
) -> None:
    code = f"emitter.emit('metric', iteration=1); wait_for('go'); {SUCCEED}"
    folder = made_run(tmp_path / "1", stage("train", code), *(stage(name, "pass") for name in later_stages))
    killed_while_training(folder)
    (folder.path / "go").touch()
    wait_until(lambda: not has_processes(folder))
    request_stop(folder)
    assert run(folder).state == state
    assert (folder.stage("train") / "done").exists()
