"""A run from its first stage to its result, with real processes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from engine.plan import Command, Stage
from engine.problem_texts import message, remedy
from engine.problems import LANGUAGES, Problem
from engine.run_folder import RunFolder, read_json
from engine.runner import AlreadyRunning, FolderInUse, Result, is_alive, prepare, run
from engine.spec import JobSpec
from tests.made_runs import (
    SPEC,
    SUCCEED,
    events,
    facts,
    iterations,
    made_run,
    plan_of,
    problem_of,
    script,
    stage,
    wait_until,
)


def test_a_run_of_two_stages_succeeds_and_tells_its_whole_story(tmp_path: Path) -> None:
    folder = made_run(
        tmp_path / "1",
        stage(
            "preprocess",
            "print('tokenized'); (run_dir / 'data' / 'tokens').write_text('1 2 3')",
            outputs=("data/tokens",),
        ),
        stage("train", f"emitter.emit('metric', iteration=1, lm_loss=2.5)\n{SUCCEED}", outputs=("output/model",)),
    )
    result = run(folder)
    assert (result.state, result.returncode, result.stage, result.leftover_processes) == ("succeeded", 0, "train", 0)
    assert Result.read(folder.result) == result
    story = [(event["kind"], event["stage"]) for event in events(folder)]
    assert story == [
        ("started", ""),
        ("started", "preprocess"),
        ("finished", "preprocess"),
        ("progress", ""),
        ("started", "train"),
        ("metric", "train"),
        ("finished", "train"),
        ("progress", ""),
        ("finished", ""),
    ]
    assert [event["seq"] for event in events(folder)] == list(range(1, 10))
    assert folder.log("preprocess").read_text() == "tokenized\n"
    assert (folder.stage("train") / "done").exists()


def test_a_folder_with_a_result_is_left_alone(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", SUCCEED))
    result = run(folder)
    before = folder.events.read_bytes()
    assert run(folder) == result
    assert folder.events.read_bytes() == before


def test_a_failing_command_fails_the_run_and_shows_the_end_of_its_log(tmp_path: Path) -> None:
    folder = made_run(
        tmp_path / "1",
        stage("train", "print('about to fail'); sys.exit(7)"),
        stage("export", SUCCEED),
    )
    result = run(folder)
    assert (result.state, result.returncode, result.stage) == ("failed", 7, "train")
    problem = problem_of(folder)
    assert problem["code"] == "stage.failed"
    assert problem["parameters"]["returncode"] == 7
    assert problem["parameters"]["log_tail"] == "about to fail"
    assert not folder.stage("export").exists()


@pytest.mark.parametrize("code", ["pass", "(run_dir / 'output' / 'model').write_text('')"])
def test_exit_status_0_without_the_declared_output_is_a_failure(tmp_path: Path, code: str) -> None:
    folder = made_run(tmp_path / "1", stage("train", code, outputs=("output/model",)))
    assert run(folder).state == "failed"
    problem = problem_of(folder)
    assert (problem["code"], problem["parameters"]["path"]) == ("stage.output_missing", "output/model")


def test_a_process_killed_from_outside_is_killed_and_not_succeeded(tmp_path: Path) -> None:
    code = f"{SUCCEED}; os.kill(os.getpid(), signal.SIGKILL)"
    folder = made_run(tmp_path / "1", stage("train", code, outputs=("output/model",)))
    result = run(folder)
    assert (result.state, result.returncode) == ("failed", 137)
    assert (problem_of(folder)["code"], problem_of(folder)["parameters"]["signal"]) == ("stage.killed", "SIGKILL")


def test_a_stage_with_its_wrapper_killed_too_is_killed(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", "os.killpg(0, signal.SIGKILL)"))
    result = run(folder)
    assert (result.state, result.returncode) == ("failed", None)
    assert problem_of(folder)["code"] == "stage.killed"


def test_one_of_several_ranks_that_was_killed_is_killed(tmp_path: Path) -> None:
    code = "print('  traceback : Signal 9 (SIGKILL) received by PID 77'); sys.exit(1)"
    folder = made_run(tmp_path / "1", stage("train", code))
    assert run(folder).state == "failed"
    assert (problem_of(folder)["code"], problem_of(folder)["parameters"]["signal"]) == ("stage.killed", "SIGKILL")


def test_the_commands_of_a_stage_run_one_after_the_other(tmp_path: Path) -> None:
    first = "emitter.emit('metric', iteration=1); (run_dir / 'data' / 'first').write_text('x')"
    second = f"assert (run_dir / 'data' / 'first').exists(); emitter.emit('metric', iteration=2); {SUCCEED}"
    folder = made_run(tmp_path / "1", stage("train", first, second, outputs=("output/model",)))
    assert run(folder).state == "succeeded"
    assert iterations(folder) == [1, 2]
    assert len(facts(folder, "started")) == 3


def test_a_command_that_cannot_start_is_a_problem(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", Stage(name="train", commands=(Command(argv=("true",), cwd="/no/such/folder"),)))
    assert run(folder).state == "failed"
    assert problem_of(folder)["code"] == "stage.cannot_start"


def test_a_command_gets_its_marks_but_none_of_the_sites_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINYARD_SECRET_KEY", "secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    code = "print(sorted(name for name in os.environ), os.environ['WHERE'], sys.stdin.read())"
    command = script(code, env={"WHERE": "{run_dir}/data"})
    folder = made_run(tmp_path / "1", Stage(name="train", commands=(command,)))
    assert run(folder).state == "succeeded"
    log = folder.log("train").read_text()
    assert f"{folder.path}/data" in log
    assert "'OMP_NUM_THREADS'" in log
    assert "TRAINYARD_SECRET_KEY" not in log


def test_a_half_written_fact_waits_for_its_other_half(tmp_path: Path) -> None:
    code = """
emitter.emit("metric", iteration=1)
file = open(os.environ["TRAINYARD_EMIT"], "ab", buffering=0)
file.write(b'{"time": 1.0, "rank": 0, "kind": "metric", "da')
wait_for("go")
file.write(b'ta": {"iteration": 2}}\\n')
"""
    folder = made_run(tmp_path / "1", stage("train", code))
    looks = []

    def on_change(path: Path) -> None:
        looks.append(path.name)
        if iterations(folder) == [1]:
            (folder.path / "go").touch()

    assert run(folder, on_change=on_change).state == "succeeded"
    assert iterations(folder) == [1, 2]
    assert "events.jsonl" in looks


def test_a_line_that_is_no_fact_becomes_a_remark(tmp_path: Path) -> None:
    code = "open(os.environ['TRAINYARD_EMIT'], 'a').write('not a fact\\n')"
    folder = made_run(tmp_path / "1", stage("train", code))
    assert run(folder).state == "succeeded"
    assert facts(folder, "log") == [("train", {"text": "unreadable fact: not a fact"})]


def test_a_listener_that_raises_does_not_hurt_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def on_change(path: Path) -> None:
        raise RuntimeError(f"no ear for {path.name}")

    folder = made_run(tmp_path / "1", stage("train", "print('hello')"))
    assert run(folder, on_change=on_change).state == "succeeded"
    assert "no ear for train.0.log" in capsys.readouterr().err


def test_only_one_runner_may_run_a_folder(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", "wait_for('go')"))
    runner = threading.Thread(target=run, args=(folder,))
    runner.start()
    try:
        wait_until(lambda: facts(folder, "started"))
        assert is_alive(folder)
        with pytest.raises(AlreadyRunning):
            run(folder)
    finally:
        (folder.path / "go").touch()
        runner.join()
    assert not is_alive(folder)


def test_preparing_makes_paths_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = SPEC.train.dataset.model_copy(update={"path": "rows.json"})
    train = SPEC.train.model_copy(update={"dataset": dataset})
    folder = RunFolder("1")
    prepare(folder, SPEC.model_copy(update={"model_path": "model", "train": train}), plan_of(stage("train", "pass")))
    spec = JobSpec.model_validate(read_json(folder.spec))
    assert spec.model_path == str(tmp_path / "model")
    assert spec.train.dataset.path == str(tmp_path / "rows.json")


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", "pass"))
    prepare(folder, SPEC, plan_of(stage("train", "pass")))
    with pytest.raises(FolderInUse):
        prepare(folder, SPEC.model_copy(update={"name": "another"}), plan_of(stage("train", "pass")))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", ["sys.exit(1)", "os.kill(os.getpid(), signal.SIGKILL)", "pass"])
def test_every_finding_has_its_texts_and_all_that_they_name(tmp_path: Path, code: str, language: str) -> None:
    folder = made_run(tmp_path / "1", stage("train", code, outputs=("output/model",)))
    run(folder)
    problem = Problem.model_validate(problem_of(folder))
    for text in (message(problem, language), remedy(problem, language)):
        assert text not in ("", problem.code)
        assert "?" not in text
