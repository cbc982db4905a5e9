from __future__ import annotations

import os
import shutil
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone

from engine.problem_texts import message
from engine.problems import Problem
from engine.run_folder import RunFolder
from jobs import reconciler
from jobs.models import Node, Run
from jobs.reconciler import ATTEMPTS, RESEND_AFTER, SILENT_IS_GONE, OnlyOne, reconcile, reconcile_forever
from jobs.recorder import rebuild
from jobs.start import start
from jobs.states import RunState
from tests.jobs.rows import node, queued_run, run_in
from tests.made_runs import SUCCEED, facts, plan_of, stage
from tests.servers import wait_until

pytestmark = pytest.mark.django_db
LONG_AGO = 2 * RESEND_AFTER
WAITING = plan_of(stage("train", f"wait_for('go')\n{SUCCEED}", outputs=("output/model",)))


@pytest.fixture(autouse=True)
def _here(data_dir: Path) -> None:
    """Run folders go to a folder of the test's own."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids of the runs that were sent to their node again."""
    ids: list[int] = []

    def send(run_id: int, token: UUID, name: str) -> bool:
        ids.append(run_id)
        return True

    monkeypatch.setattr(reconciler, "send_start", send)
    return ids


def stale(run: Run, **fields: Any) -> Run:
    """As if its start had been sent long ago."""
    Run.objects.filter(pk=run.pk).update(start_sent_at=timezone.now() - LONG_AGO, **fields)
    run.refresh_from_db()
    return run


def silent(span: timedelta) -> None:
    Node.objects.update(last_seen=timezone.now() - span)


def supervisor_of(folder: RunFolder) -> int | None:
    wanted = ["jobs.supervisor", str(folder.path)]
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [])[-2:] == wanted:
            return process.pid
    return None


def state(run: Run) -> str:
    run.refresh_from_db()
    return run.state


def test_queued_runs_are_placed() -> None:
    node()
    run = queued_run()
    reconcile()
    assert state(run) == RunState.ASSIGNED


@pytest.mark.parametrize("where", [RunState.ASSIGNED, RunState.RUNNING, RunState.STOPPING])
def test_a_start_without_effect_is_sent_again_but_not_at_once(where: RunState, sent: list[int]) -> None:
    run = run_in(where)
    reconcile()
    assert sent == []
    stale(run)
    reconcile()
    reconcile()
    assert sent == [run.pk]


def test_a_training_that_has_lost_its_supervisor_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "send_start", lambda run_id, token, _: start(run_id, token))
    run = run_in(RunState.ASSIGNED, WAITING)
    start(run.pk, run.token)
    wait_until(lambda: facts(run.folder, "started")[1:], what="the stage")
    supervisor = wait_until(lambda: supervisor_of(run.folder), what="the supervisor")
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: supervisor_of(run.folder) is None, what="the supervisor's death")
    stale(run)
    reconcile()
    assert wait_until(lambda: supervisor_of(run.folder), what="the next supervisor") != supervisor
    (run.folder.path / "go").touch()
    wait_until(run.folder.result.exists, what="the result")
    reconcile()
    assert state(run) == RunState.SUCCEEDED
    assert [name for name, _ in facts(run.folder, "started")] == ["", "train"]


@pytest.mark.parametrize("where", [RunState.RUNNING, RunState.STOPPING])
def test_a_run_that_nothing_helps_is_lost_and_frees_its_device(where: RunState, sent: list[int]) -> None:
    run = run_in(where)
    for _ in range(ATTEMPTS):
        stale(run)
        reconcile()
    assert state(run) == RunState.LOST
    assert run.leases.count() == 0
    assert len(sent) == ATTEMPTS - 1
    assert run.transitions.last().reason == "cannot_start"
    assert [row.state for row in run.stages.all()] == ["skipped"]
    [problem] = run.problems
    stored = Problem.model_validate({name: value for name, value in problem.items() if name != "stage"})
    assert "test-node" in message(stored, "en")
    rebuild(run)
    assert run.problems == [problem]


def test_a_run_that_was_never_started_goes_back_to_the_queue_with_another_token(sent: list[int]) -> None:
    run = stale(run_in(RunState.ASSIGNED), start_attempts=ATTEMPTS)
    silent(timedelta(minutes=2))
    old = run.token
    reconcile()
    assert state(run) == RunState.QUEUED
    assert (run.node, run.leases.count()) == (None, 0)
    silent(timedelta(0))
    reconcile()
    assert state(run) == RunState.ASSIGNED
    assert run.token != old
    assert not start(run.pk, old)


def test_an_assigned_run_does_not_wait_for_a_silent_node(sent: list[int]) -> None:
    run = stale(run_in(RunState.ASSIGNED))
    silent(timedelta(minutes=2))
    reconcile()
    assert (state(run), sent) == (RunState.QUEUED, [])


def test_a_running_run_waits_for_a_silent_node_and_is_lost_with_a_dead_one(sent: list[int]) -> None:
    run = stale(run_in(RunState.RUNNING))
    silent(timedelta(minutes=2))
    reconcile()
    assert (state(run), sent) == (RunState.RUNNING, [])
    silent(SILENT_IS_GONE * 2)
    reconcile()
    assert state(run) == RunState.LOST


def test_a_run_whose_folder_is_gone_is_lost_and_not_begun_again(sent: list[int]) -> None:
    run = run_in(RunState.RUNNING, recorded_offset=100)
    shutil.rmtree(run.folder.path)
    stale(run)
    reconcile()
    assert (state(run), sent) == (RunState.LOST, [])
    assert run.transitions.last().reason == "folder_gone"


def test_a_stopping_run_has_its_flag(sent: list[int]) -> None:
    run = run_in(RunState.STOPPING)
    assert not run.folder.stop.exists()
    reconcile()
    assert run.folder.stop.exists()


def test_a_run_that_makes_trouble_does_not_keep_the_others_waiting(caplog: pytest.LogCaptureFixture) -> None:
    broken, good, queued = run_in(RunState.RUNNING), run_in(RunState.RUNNING), queued_run()
    broken.folder.result.write_text("{half")
    start(good.pk, good.token)
    wait_until(good.folder.result.exists, what="the result")
    reconcile()
    assert [state(run) for run in (broken, good)] == ["running", "succeeded"]
    assert state(queued) == RunState.ASSIGNED
    assert f"run {broken.pk} could not be looked after" in caplog.text


class Pauses:
    """Stands in for the flag: counts the pauses and ends the loop after some."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.seconds: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        return len(self.seconds) > self.count


def test_the_reconciler_waits_longer_while_the_database_is_away_and_then_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([OperationalError("away"), OperationalError("away"), None, None])

    def look() -> None:
        answer = next(answers)
        if answer is not None:
            raise answer

    monkeypatch.setattr(reconciler, "reconcile", look)
    monkeypatch.setattr(reconciler, "close_old_connections", lambda: None)
    pauses = Pauses(4)
    reconcile_forever(pauses)  # type: ignore[arg-type]
    assert pauses.seconds == [1, 2, 4, 1, 1]


def test_there_is_one_reconciler() -> None:
    first, second = OnlyOne(), OnlyOne()
    assert first.take()
    assert not second.take()
    with pytest.raises(CommandError, match="another reconciler is at work"):
        call_command("reconcile", "--once")
    first.release()
    call_command("reconcile", "--once")
