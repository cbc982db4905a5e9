"""A run whose machine went down goes on by itself; one that has ended goes on when it is asked again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from engine.problem_texts import message
from engine.problems import LANGUAGES, Problem
from engine.run_folder import RunFolder
from engine.runner import Result, has_processes, request_stop, run
from engine.runner.recovery import MOST_RESTARTS
from engine.spec import JobSpec, ResumeOptions
from tests.made_runs import (
    SPEC,
    SUCCEED,
    events,
    facts,
    iterations,
    made_run,
    problem_of,
    stage,
    start_runner,
    training_pid,
    wait_until,
)

LENGTH = 6
TRAINING = f"""
done = [int(path.parent.name[5:]) for path in (run_dir / "checkpoints").glob("iter_*/done")]
for iteration in range(max(done, default=0) + 1, {LENGTH} + 1):
    emitter.emit("metric", iteration=iteration)
    if iteration % 2 == 0:
        (run_dir / "checkpoints" / f"iter_{{iteration:07d}}").mkdir()
        (run_dir / "checkpoints" / f"iter_{{iteration:07d}}" / "done").touch()
        emitter.emit("checkpoint", iteration=iteration, path="x")
    if not (run_dir / f"pass_{{iteration}}").exists():
        (run_dir / f"at_{{iteration}}").touch()
        wait_for("never")
{SUCCEED}
"""
"""Saves every second iteration, goes on from there, and waits at each iteration that it may not pass."""
NO_RECOVERY = SPEC.model_copy(
    update={"train": SPEC.train.model_copy(update={"resume": ResumeOptions(auto_recovery=False)})}
)


def made(path: Path, *passed: int, spec: JobSpec = SPEC) -> RunFolder:
    once = "file = run_dir / 'data' / 'count'; file.write_text('x' + (file.read_text() if file.exists() else ''))"
    stages = (stage("preprocess", once, outputs=("data/count",)), stage("train", TRAINING, outputs=("output/model",)))
    folder = made_run(path, *stages, spec=spec)
    allow(folder, *passed)
    return folder


def allow(folder: RunFolder, *passed: int) -> None:
    for iteration in passed:
        (folder.path / f"pass_{iteration}").touch()


def powered_off(folder: RunFolder, iteration: int) -> None:
    """Run until the training waits at an iteration, then kill everything at once."""
    (folder.path / f"at_{iteration}").unlink(missing_ok=True)
    runner = start_runner(folder)
    wait_until(lambda: (folder.path / f"at_{iteration}").exists() and iterations(folder)[-1:] == [iteration])
    runner.kill()
    runner.wait()
    os.killpg(training_pid(folder), signal.SIGKILL)
    wait_until(lambda: not has_processes(folder))


def restarts(folder: RunFolder) -> list[tuple[int, int]]:
    """(number, iteration) of each restart that was told."""
    return [(data["restart"], data["iteration"]) for _, data in facts(folder, "log") if "restart" in data]


def test_a_training_that_went_down_with_its_machine_goes_on_from_its_newest_checkpoint(tmp_path: Path) -> None:
    folder = made(tmp_path / "1", 1, 2)
    powered_off(folder, 3)
    allow(folder, 3, 4, 5, 6)
    assert run(folder).state == "succeeded"
    assert iterations(folder) == [1, 2, 3, 3, 4, 5, 6], "what came after the checkpoint is told again"
    assert restarts(folder) == [(1, 2)]
    assert "iteration 2" in next(data["text"] for _, data in facts(folder, "log") if "restart" in data)
    assert (folder.data / "count").read_text() == "x", "a stage that was done is not done again"
    assert [event["seq"] for event in events(folder)] == list(range(1, len(events(folder)) + 1))
    assert [name for name, _ in facts(folder, "started")] == ["", "preprocess", "train", "train"]


def test_a_restart_is_a_note_in_both_languages_and_no_failure(tmp_path: Path) -> None:
    folder = made(tmp_path / "1", 1, 2)
    powered_off(folder, 3)
    allow(folder, 3, 4, 5, 6)
    run(folder)
    problem = Problem.model_validate(problem_of(folder))
    assert (problem.code, problem.severity) == ("stage.restarted", "note")
    for language in LANGUAGES:
        assert "2" in message(problem, language)
        assert "?" not in message(problem, language)


def test_restarts_without_progress_come_to_an_end(tmp_path: Path) -> None:
    folder = made(tmp_path / "1", 1, 2)
    for _ in range(MOST_RESTARTS + 1):
        powered_off(folder, 3)
    result = run(folder)
    assert (result.state, result.returncode) == ("failed", None)
    assert restarts(folder) == [(number, 2) for number in range(1, MOST_RESTARTS + 1)]
    assert facts(folder, "problem")[-1][1]["problem"]["code"] == "stage.killed"


def test_a_new_checkpoint_gives_new_restarts(tmp_path: Path) -> None:
    folder = made(tmp_path / "1", 1, 2)
    for _ in range(MOST_RESTARTS):
        powered_off(folder, 3)
    allow(folder, 3, 4)
    powered_off(folder, 5)
    allow(folder, 5, 6)
    assert run(folder).state == "succeeded"
    assert restarts(folder) == [(1, 2), (2, 2), (3, 2), (1, 4)]


def test_without_auto_recovery_it_was_killed(tmp_path: Path) -> None:
    folder = made(tmp_path / "1", 1, 2, spec=NO_RECOVERY)
    powered_off(folder, 3)
    allow(folder, 3, 4, 5, 6)
    assert run(folder).state == "failed"
    assert problem_of(folder)["code"] == "stage.killed"


def test_a_stop_that_was_asked_before_is_not_undone_by_a_restart(tmp_path: Path) -> None:
    folder = made(tmp_path / "1", 1, 2)
    powered_off(folder, 3)
    request_stop(folder)
    assert run(folder).state == "stopped"
    assert restarts(folder) == []


def test_a_record_that_a_power_cut_has_emptied_is_none(tmp_path: Path) -> None:
    folder = made(tmp_path / "1", 1, 2)
    powered_off(folder, 3)
    (folder.stage("train") / "process.json").write_text("")
    allow(folder, 3, 4, 5, 6)
    assert run(folder).state == "succeeded"


def test_a_run_that_failed_goes_on_when_it_is_asked_again(tmp_path: Path) -> None:
    folder = made(tmp_path / "1", 1, 2, spec=NO_RECOVERY)
    powered_off(folder, 3)
    failed = run(folder)
    assert run(folder) == failed, "not asked again, it is left alone"
    allow(folder, 3, 4, 5, 6)
    assert run(folder, again=True).state == "succeeded"
    assert iterations(folder) == [1, 2, 3, 3, 4, 5, 6]
    assert (folder.data / "count").read_text() == "x"
    assert Result.read(folder.path / "result.1.json") == failed
    assert [data["state"] for name, data in facts(folder, "finished") if not name] == ["failed", "succeeded"]
    before = folder.events.read_bytes()
    assert run(folder, again=True).state == "succeeded"
    assert folder.events.read_bytes() == before, "what has succeeded is not done again"


def test_a_run_that_was_stopped_goes_on_when_it_is_asked_again(tmp_path: Path) -> None:
    folder = made(tmp_path / "1", 1, 2)
    runner = start_runner(folder)
    wait_until(lambda: (folder.path / "at_3").exists())
    request_stop(folder)
    assert runner.wait(timeout=20) == 0
    stopped = Result.read(folder.result)
    assert stopped is not None
    assert stopped.state == "stopped"
    allow(folder, 3, 4, 5, 6)
    assert run(folder, again=True).state == "succeeded"
    assert not folder.stop.exists()
    assert restarts(folder) == [], "it was not interrupted"
