"""The time of a run from the team's finished ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoAssertNumQueries

from engine.catalog import load
from engine.events import TOKENS_PER_SECOND, Event
from engine.run_folder import write_atomic
from engine.runner import Result
from engine.spec import canonical_json
from jobs.models import Run, RunSpeed, Team
from jobs.own_runs import MOST_RUNS, with_own_runs
from jobs.recorder import rebuild, record
from jobs.states import RunState
from jobs.submit import preview, submit
from tests.jobs.rows import run_in
from tests.made_runs import SPEC

pytestmark = pytest.mark.django_db
KEY = ("smollm2-135m", "native", "full", 64, "cpu")


@pytest.fixture(autouse=True)
def _here(data_dir: Path) -> None:
    """Run folders go to a folder of the test's own."""


def finish(speeds: list[Any], state: str = "succeeded") -> Run:
    run = run_in(RunState.RUNNING)
    with run.folder.events.open("ab") as file:
        for seq, speed in enumerate(speeds, 1):
            data = {"iteration": seq, TOKENS_PER_SECOND: speed}
            file.write(Event(seq=seq, time=1e9, stage="train", kind="metric", data=data).line())
    result = Result(state=state, returncode=0, stage="train", finished_at=1e9, leftover_processes=0)  # type: ignore[arg-type]
    write_atomic(run.folder.result, canonical_json(result))
    record(run)
    return run


def test_a_finished_run_is_remembered_by_its_median_and_no_outlier() -> None:
    run = finish([3.0, 900.0, 1000.0, 1100.0, "NaN", 5000.0])
    assert RunSpeed.objects.get(run=run).tokens_per_second_per_device == 1000.0
    assert with_own_runs(load(), SPEC, run.job.team).own_runs == {KEY: (1000.0,)}


@pytest.mark.parametrize("state", ["failed", "stopped"])
def test_a_run_that_did_not_finish_says_nothing_of_speed(state: str) -> None:
    finish([900.0], state)
    assert not RunSpeed.objects.exists()


def test_a_run_without_numbers_says_nothing_of_speed() -> None:
    finish([])
    assert not RunSpeed.objects.exists()


def test_a_rebuilt_run_has_its_speed_again() -> None:
    run = finish([900.0])
    RunSpeed.objects.all().delete()
    rebuild(run)
    assert RunSpeed.objects.get(run=run).tokens_per_second_per_device == 900.0


def test_only_runs_of_the_team_that_were_like_the_request_count() -> None:
    run = finish([900.0])
    elsewhere = Team.objects.create(name="elsewhere")
    assert with_own_runs(load(), SPEC, elsewhere).own_runs == {}
    assert with_own_runs(load(), SPEC, None).own_runs == {}
    for changes in ({"model": "llama2-7b"}, {"hardware": "snt9b"}, {"framework": "llama-factory"}):
        assert with_own_runs(load(), SPEC.model_copy(update=changes), run.job.team).own_runs == {}
    train = SPEC.train.model_copy(update={"strategy": "lora"})
    assert with_own_runs(load(), SPEC.model_copy(update={"train": train}), run.job.team).own_runs == {}


def test_runs_of_another_length_count_until_there_is_one_of_the_same() -> None:
    run = finish([900.0])
    longer = SPEC.model_copy(update={"train": SPEC.train.model_copy(update={"seq_length": 128})})
    assert with_own_runs(load(), longer, run.job.team).own_runs == {KEY: (900.0,)}
    RunSpeed.objects.create(
        run=Run.objects.create(job=run.job, number=2),
        team=run.job.team,
        model="smollm2-135m",
        framework="native",
        strategy="full",
        seq_length=128,
        hardware="cpu",
        tokens_per_second_per_device=500.0,
    )
    assert list(with_own_runs(load(), longer, run.job.team).own_runs.values()) == [(500.0,)]
    assert with_own_runs(load(), SPEC, run.job.team).own_runs == {KEY: (900.0,)}


def test_the_newest_runs_count_and_one_question_is_asked(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    run = finish([100.0])
    job = run.job
    runs = Run.objects.bulk_create([Run(job=job, number=number) for number in range(2, MOST_RUNS + 2)])
    names = ("model", "framework", "strategy", "seq_length", "hardware")
    like = dict(zip(names, KEY, strict=True))
    RunSpeed.objects.bulk_create(
        [RunSpeed(run=one, team=job.team, tokens_per_second_per_device=200.0 + one.number, **like) for one in runs]
    )
    with django_assert_num_queries(1):
        speeds = with_own_runs(load(), SPEC, job.team).own_runs[KEY]
    assert len(speeds) == MOST_RUNS
    assert speeds[0] == 200.0 + MOST_RUNS + 1
    assert 100.0 not in speeds


def test_the_time_names_own_runs_as_its_basis(spec: dict[str, Any], team: Team, alice: User) -> None:
    spec["train"] |= {"train_iters": 100, "global_batch_size": 1, "micro_batch_size": 1}
    assert _eta(spec, team) is None  # no machine has reported yet
    for speed in (900.0, 1000.0, 1100.0):
        finish([speed])
    eta = _eta(spec, team)
    assert eta is not None
    assert eta.basis == "own_runs"
    assert eta.seconds_low < 100 * 64 / 1000.0 < eta.seconds_high
    decided = preview(spec, team=team)[1]
    assert decided is not None
    [reason] = [reason for reason in decided.reasons if reason.code == "reason.eta_own_runs"]
    assert reason.parameters["runs"] == 3
    job = submit(spec, team=team, user=alice)
    assert job.plan["eta"]["basis"] == "own_runs"
    assert sorted(job.verdict["rows"]["own_runs"]) == [900.0, 1000.0, 1100.0]
    elsewhere = _eta(spec, Team.objects.create(name="elsewhere"))
    assert elsewhere is not None
    assert elsewhere.basis == "cpu_cores"
    spec["train"]["seq_length"] = 128
    other = _eta(spec, team)
    assert other is not None
    assert other.basis == "own_runs_scaled"
    assert other.seconds_high / other.seconds_low > eta.seconds_high / eta.seconds_low


def _eta(spec: dict[str, Any], team: Team) -> Any:
    verdict, decided = preview(spec, team=team)
    assert decided is not None, verdict.problems
    return decided.eta
