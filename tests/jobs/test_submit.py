from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from engine.planner import plan
from engine.problem_texts import message
from engine.problems import LANGUAGES
from engine.spec import JobSpec, canonical_json
from jobs.again import StillRunning, run_again
from jobs.catalog import current
from jobs.models import AuditEvent, Job, Node, Run, Team
from jobs.own_runs import informed
from jobs.states import RunState
from jobs.submit import Refused, preview, submit
from tests.jobs.rows import node, user_of
from tests.servers import RedisServer

pytestmark = pytest.mark.django_db


def refusal(spec: dict[str, Any], team: Team, user: User) -> list[tuple[str, str]]:
    """(code, field) of the errors."""
    with pytest.raises(Refused) as caught:
        submit(spec, team=team, user=user)
    assert Job.objects.count() == 0
    return [(problem.code, problem.field) for problem in caught.value.verdict.problems if problem.severity == "error"]


def findings(spec: dict[str, Any]) -> dict[str, str]:
    """Code → severity."""
    return {problem.code: problem.severity for problem in preview(spec)[0].problems}


def test_a_good_request_becomes_a_job_with_a_queued_run(
    spec: dict[str, Any], team: Team, alice: User, data_dir: Path
) -> None:
    node()
    job = submit(spec, team=team, user=alice)
    run = job.runs.get()
    assert (run.number, run.state) == (1, RunState.QUEUED)
    assert [stage.name for stage in run.stages.all()] == ["preprocess", "train", "export"]
    assert job.job_spec.train.dataset.path == str(data_dir / "datasets/three.json")
    assert (job.name, job.model, job.owner, job.team) == ("first try", "smollm2-135m", alice, team)
    assert AuditEvent.objects.get(job=job).action == "job.submit"


def test_the_stored_plan_is_the_planners_own_byte_for_byte(spec: dict[str, Any], team: Team, alice: User) -> None:
    node()
    job = submit(spec, team=team, user=alice)
    asked = JobSpec.model_validate(spec)
    assert canonical_json(job.job_plan) == canonical_json(plan(asked, informed(current(), asked, team)))


def test_every_mistake_is_named_at_once_and_nothing_is_queued(
    spec: dict[str, Any], team: Team, alice: User, data_dir: Path
) -> None:
    node()
    spec["devices"] = 0
    spec["hardware"] = "abacus"
    spec["train"]["dataset"]["path"] = "datasets/nowhere.json"
    spec["model_path"] = "/etc"
    fields = {field for _, field in refusal(spec, team, alice)}
    assert {"devices", "hardware", "train.dataset.path", "model_path"} <= fields


def test_a_path_cannot_climb_out_of_the_data_folder(spec: dict[str, Any], team: Team, alice: User) -> None:
    node()
    spec["train"]["dataset"]["path"] = "datasets/../../../etc/passwd"
    assert "train.dataset.path" in {field for _, field in refusal(spec, team, alice)}


def test_a_stranger_cannot_submit_for_a_team(spec: dict[str, Any], team: Team, alice: User) -> None:
    node()
    stranger = user_of(Team.objects.create(name="beta"), "charlie")
    with pytest.raises(PermissionDenied):
        submit(spec, team=team, user=stranger)


def test_a_framework_that_no_node_has_is_refused(spec: dict[str, Any], team: Team, alice: User) -> None:
    node(frameworks={"llama-factory": "0.9"})
    assert ("framework.nowhere", "framework") in refusal(spec, team, alice)


def test_a_framework_that_is_being_installed_is_a_warning(spec: dict[str, Any], team: Team, alice: User) -> None:
    node(frameworks={"native": "installing"})
    assert findings(spec)["framework.installing"] == "warning"
    assert submit(spec, team=team, user=alice).runs.count() == 1


def test_more_devices_than_the_largest_node_has_are_refused(spec: dict[str, Any], team: Team, alice: User) -> None:
    node("one", devices=2)
    node("two", devices=3)
    spec["devices"] = 4
    assert ("devices.not_here", "devices") in refusal(spec, team, alice)
    [problem] = [problem for problem in preview(spec)[0].problems if problem.code == "devices.not_here"]
    assert problem.nearest == {"devices": 3}
    assert problem.fault == "site"


@pytest.mark.parametrize("devices", [3, 64, 4096, 65_536])
def test_every_change_that_is_offered_fits_here(spec: dict[str, Any], team: Team, devices: int) -> None:
    node(devices=2)
    spec["devices"] = devices
    verdict, _ = preview(spec, team=team)
    offered = [*verdict.nearest, *(problem.nearest for problem in verdict.problems if problem.nearest)]
    assert not verdict.fits
    assert {"devices": 2} in offered or devices > 64  # of a number that is none of devices only its bounds are told
    for change in offered:
        assert preview({**spec, **change}, team=team)[0].fits


def test_what_no_machine_here_can_hold_is_refused_with_the_micro_batch_that_fits(
    spec: dict[str, Any], team: Team
) -> None:
    node(devices=2, memory_gib=26.0)
    spec["train"] |= {"strategy": "full", "seq_length": 8192, "micro_batch_size": 8, "global_batch_size": 8}
    verdict, _ = preview(spec, team=team)
    [problem] = [problem for problem in verdict.problems if problem.code == "memory.too_small"]
    assert problem.severity == "error"
    assert problem.parameters["needed"] > 46
    micro = problem.nearest["train.micro_batch_size"]
    spec["train"]["micro_batch_size"] = micro
    codes = {problem.code for problem in preview(spec, team=team)[0].problems}
    assert not codes & {"memory.too_small", "memory.little_room"}


@pytest.mark.parametrize("memory_gib", [None, 256.0])
def test_memory_that_is_enough_or_unknown_is_no_finding(
    spec: dict[str, Any], team: Team, memory_gib: float | None
) -> None:
    node(devices=2, memory_gib=memory_gib)
    spec["train"] |= {"strategy": "full", "seq_length": 8192, "micro_batch_size": 8, "global_batch_size": 8}
    assert not [one for one in preview(spec, team=team)[0].problems if one.code.startswith("memory.")]


def test_hardware_that_no_node_has_is_refused(spec: dict[str, Any], team: Team, alice: User) -> None:
    node(hardware="cuda")
    assert ("hardware.not_here", "hardware") in refusal(spec, team, alice)


def test_what_the_tables_refuse_is_not_said_twice(spec: dict[str, Any], team: Team, alice: User) -> None:
    node()
    spec["hardware"] = "abacus"
    assert [code for code, field in refusal(spec, team, alice) if field == "hardware"] == ["hardware.unknown"]


def test_a_site_without_nodes_takes_jobs_with_a_warning(spec: dict[str, Any], team: Team, alice: User) -> None:
    assert findings(spec)["node.none"] == "warning"
    assert submit(spec, team=team, user=alice)


def test_a_node_that_has_been_silent_for_weeks_does_not_count(spec: dict[str, Any]) -> None:
    node(last_seen=timezone.now() - timedelta(days=30))
    assert findings(spec)["node.none"] == "warning"


def test_a_node_that_is_silent_for_the_moment_still_counts(spec: dict[str, Any]) -> None:
    node(last_seen=timezone.now() - timedelta(hours=1))
    assert "framework.nowhere" not in findings(spec)


@pytest.mark.parametrize("data", [{}, {"train": 3, "devices": "many", "hardware": None, "framework": ["x"]}])
def test_a_request_of_any_shape_gets_an_answer(data: dict[str, Any], spec: dict[str, Any]) -> None:
    node()
    verdict, decided = preview(data)
    assert not verdict.fits
    assert decided is None


def test_every_finding_of_the_site_has_a_text_in_each_language() -> None:
    for data in ({"hardware": "x", "framework": "y"}, {"hardware": "cpu", "framework": "native", "devices": 99}):
        node(f"n{len(data)}", frameworks={"native": "installing"})
        for problem in preview(data)[0].problems:
            assert all(message(problem, language) != problem.code for language in LANGUAGES)


def test_running_again_is_judged_anew(spec: dict[str, Any], team: Team, alice: User, data_dir: Path) -> None:
    node()
    job = submit(spec, team=team, user=alice)
    run = job.runs.get()
    assert run.advance(RunState.QUEUED, RunState.CANCELLED)
    (data_dir / "datasets/three.json").unlink()
    Node.objects.update(frameworks={"llama-factory": "1"})
    with pytest.raises(Refused) as caught:
        run_again(job, alice)
    codes = {problem.code for problem in caught.value.verdict.problems}
    assert {"dataset.missing", "framework.nowhere"} <= codes
    assert job.runs.count() == 1


def test_running_again_makes_a_new_attempt_once_the_last_has_ended(
    spec: dict[str, Any], team: Team, alice: User
) -> None:
    job = submit(spec, team=team, user=alice)
    with pytest.raises(StillRunning):
        run_again(job, alice)
    job.runs.get().advance(RunState.QUEUED, RunState.CANCELLED)
    run = run_again(job, alice)
    assert (run.number, run.state, run.stages.count()) == (2, RunState.QUEUED, 3)
    assert Run.objects.filter(job=job).count() == 2


def test_a_job_is_queued_although_redis_is_away(
    spec: dict[str, Any],
    team: Team,
    alice: User,
    redis_server: RedisServer,
    django_capture_on_commit_callbacks: Any,
) -> None:
    redis_server.kill()
    with django_capture_on_commit_callbacks(execute=True):
        job = submit(spec, team=team, user=alice)
    assert job.runs.get().state == RunState.QUEUED
