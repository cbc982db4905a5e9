"""Starting a run on its node, with the real supervisor."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from engine.runner import has_processes, is_alive
from engine.stage_file import StageFile
from jobs.models import AuditEvent, DeviceLease, Job, Run
from jobs.recorder import record
from jobs.start import environment, start
from jobs.states import RunState
from jobs.stop import request_stop
from tests.jobs.rows import node, queued_run, run_in
from tests.made_runs import SUCCEED, facts, plan_of, stage, training_pid
from tests.servers import wait_until

pytestmark = pytest.mark.django_db
WAITING = plan_of(stage("train", f"wait_for('go')\n{SUCCEED}", outputs=("output/model",)))


@pytest.fixture(autouse=True)
def _here(data_dir: Path) -> None:
    """Run folders go to a folder of the test's own."""


def test_a_start_runs_the_job_to_its_end() -> None:
    run = run_in(RunState.ASSIGNED)
    assert start(run.pk, run.token)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    assert run.started_at is not None
    wait_until(run.folder.result.exists, what="the result")
    record(run)
    assert run.state == RunState.SUCCEEDED
    assert run.leases.count() == 0


def test_a_run_is_told_the_folders_that_it_may_read(settings: Any) -> None:
    settings.ROOTS = (Path("/data"), Path("/models"))
    run = run_in(RunState.ASSIGNED)
    assert start(run.pk, run.token)
    wait_until(run.folder.result.exists, what="the result")
    assert StageFile.read(run.folder.stage("train") / "stage.json").roots == ("/data", "/models")


def test_a_run_whose_machine_went_down_goes_on_at_the_next_start() -> None:
    """The supervisor and the training are gone at once; the reconciler has the start sent again."""
    run = run_in(RunState.ASSIGNED, WAITING)
    assert start(run.pk, run.token)
    begun = run.folder.stage("train") / "process.json"
    wait_until(lambda: begun.exists() and facts(run.folder, "started")[1:], what="the training")
    supervisor = holder(run.folder.lock)
    os.kill(supervisor, signal.SIGKILL)
    os.killpg(training_pid(run.folder), signal.SIGKILL)
    wait_until(lambda: not is_alive(run.folder) and not has_processes(run.folder), what="the end of all")
    (run.folder.path / "go").touch()
    assert start(run.pk, run.token)
    wait_until(run.folder.result.exists, what="the result")
    record(run)
    assert run.state == RunState.SUCCEEDED
    assert [problem["code"] for problem in run.problems] == ["stage.restarted"]
    assert list(run.stages.values_list("state", flat=True)) == ["succeeded"]


def holder(lock: Path) -> int:
    """Number of the supervisor that holds the lock."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if link.readlink() == lock and b"jobs.supervisor" in (link.parents[1] / "cmdline").read_bytes():
                return int(link.parts[2])
    raise LookupError(lock)


def test_a_start_that_is_delivered_twice_starts_once() -> None:
    run = run_in(RunState.ASSIGNED, WAITING)
    assert start(run.pk, run.token)
    assert not start(run.pk, run.token)
    (run.folder.path / "go").touch()
    wait_until(run.folder.result.exists, what="the result")
    assert not start(run.pk, run.token)
    assert [name for name, _ in facts(run.folder, "started")] == ["", "train"]


def test_an_outdated_token_starts_nothing() -> None:
    run = run_in(RunState.ASSIGNED)
    assert not start(run.pk, uuid4())
    run.refresh_from_db()
    assert run.state == RunState.ASSIGNED
    assert not run.folder.path.exists()


def test_a_cancelled_run_does_not_start_late() -> None:
    run = run_in(RunState.ASSIGNED)
    assert request_stop(run, None)
    assert run.state == RunState.CANCELLED
    assert not start(run.pk, run.token)
    assert not run.folder.path.exists()


def test_another_nodes_run_is_not_started_here() -> None:
    run = run_in(RunState.ASSIGNED)
    Run.objects.filter(pk=run.pk).update(node=node("elsewhere"))
    assert not start(run.pk, run.token)


def test_a_training_sees_only_its_own_devices() -> None:
    run = run_in(RunState.RUNNING)
    Job.objects.filter(pk=run.job_id).update(spec={**run.job.spec, "hardware": "cuda"})
    DeviceLease.objects.create(node=run.node, device=3, run=run)
    run = Run.objects.get(pk=run.pk)
    assert environment(run)["CUDA_VISIBLE_DEVICES"] == "0,3"
    Job.objects.filter(pk=run.job_id).update(spec={**run.job.spec, "hardware": "snt9b"})
    run = Run.objects.get(pk=run.pk)
    assert environment(run)["ASCEND_RT_VISIBLE_DEVICES"] == "0,3"
    assert environment(run)["HCCL_IF_BASE_PORT"] == "60000"


def test_a_cpu_training_gets_no_device_variable() -> None:
    assert set(environment(run_in(RunState.RUNNING))) == {"REDIS_URL"}


def test_stopping_a_running_run_ends_its_processes() -> None:
    run = run_in(RunState.ASSIGNED, WAITING)
    start(run.pk, run.token)
    wait_until(lambda: facts(run.folder, "started")[1:], what="the stage")
    alice = User.objects.get(username="alice")
    assert request_stop(run, alice)
    assert not request_stop(run, alice)
    wait_until(run.folder.result.exists, what="the result")
    record(run)
    run.refresh_from_db()
    assert run.state == RunState.STOPPED
    assert AuditEvent.objects.get(job=run.job, action="run.stop").user == alice


def test_a_stop_before_the_folder_is_there_is_not_forgotten() -> None:
    run = run_in(RunState.ASSIGNED, WAITING)
    run.advance(RunState.ASSIGNED, RunState.RUNNING, started_at=timezone.now())
    assert request_stop(run, None)
    start(run.pk, run.token)
    wait_until(run.folder.result.exists, what="the result")
    record(run)
    run.refresh_from_db()
    assert run.state == RunState.STOPPED
    assert facts(run.folder, "metric") == []
    wait_until(lambda: not is_alive(run.folder), what="the supervisor's end")


def test_a_queued_run_is_cancelled_at_once_and_an_ended_one_cannot_be_stopped() -> None:
    run = queued_run()
    assert request_stop(run, None)
    assert run.state == RunState.CANCELLED
    assert not request_stop(run, None)
