"""A Redis that takes connections and answers nobody costs promptness, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Timer
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import announce, messages, outbox
from jobs.models import Run, Team
from jobs.outbox import CAPACITY, Outbox
from jobs.reconciler import reconcile
from jobs.states import RunState
from jobs.stop import request_stop
from jobs.submit import submit
from tests.jobs.rows import node, run_in
from tests.made_runs import SUCCEED, plan_of, stage
from tests.servers import RedisServer, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
SOON = 5.0
"""Seconds. A call that waited for Redis without a limit would never end."""


@pytest.fixture
def hung(redis_server: RedisServer, data_dir: object) -> Iterator[RedisServer]:
    outbox.wait_empty(SOON)
    redis_server.hang()
    rescue = Timer(30, redis_server.go_on)  # so that code without a limit fails here and does not hang, too
    rescue.start()
    yield redis_server
    rescue.cancel()
    redis_server.go_on()
    outbox.wait_empty(2 * SOON)


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def state(run: Run) -> str:
    run.refresh_from_db()
    return run.state


def test_a_job_is_submitted_and_placed(hung: RedisServer, spec: dict[str, Any], team: Team, alice: User) -> None:
    node()
    assert seconds_of(lambda: submit(spec, team=team, user=alice)) < SOON
    assert seconds_of(reconcile) < SOON
    assert state(Run.objects.get()) == RunState.ASSIGNED


def test_a_running_run_is_stopped(hung: RedisServer) -> None:
    run = run_in(RunState.RUNNING)
    assert seconds_of(lambda: request_stop(run, None)) < SOON
    assert run.folder.stop.exists()
    assert state(run) == RunState.STOPPING


def test_the_reconciler_goes_on_recording(hung: RedisServer) -> None:
    runs = [run_in(RunState.RUNNING, plan_of(stage("train", SUCCEED))) for _ in range(2)]
    for run in runs:
        run.folder.events.write_text('{"seq": 1, "time": 1.0, "stage": "train", "rank": 0, "kind": "started"}\n')
    assert seconds_of(reconcile) < SOON
    assert [run.stage for run in Run.objects.order_by("pk")] == ["train", "train"]


def test_health_names_it_in_time(hung: RedisServer, client: Client) -> None:
    begun = time.monotonic()
    assert client.get("/healthz").json() == {"database": "ok", "redis": "unreachable"}
    assert time.monotonic() - begun < 3  # what containers wait for an answer is 4


@pytest.mark.parametrize("letter", [lambda: announce.run_changed(1), messages.wake_dispatcher])
def test_a_letter_is_given_up_in_time_and_said_so(
    hung: RedisServer, letter: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    letter()
    assert outbox.wait_empty(2 * SOON)
    assert len(caplog.messages) == 1


def test_what_is_sent_after_it_has_come_back_arrives(hung: RedisServer) -> None:
    messages.wake_dispatcher()
    hung.go_on()
    messages.wake_dispatcher()
    wait_until(lambda: hung.length("default"), 15, "the message")


def test_the_oldest_letters_are_dropped_when_too_many_wait() -> None:
    box, sent = Outbox(), list[int]()
    gate = Gate()
    box.put(gate.pass_through)
    wait_until(gate.is_reached, what="the sender at the gate")
    for number in range(CAPACITY + 3):
        box.put(lambda number=number: sent.append(number))  # type: ignore[misc]
    gate.open = True
    assert box.wait_empty(SOON)
    assert sent == list(range(3, CAPACITY + 3))


def test_a_letter_that_fails_does_not_keep_the_others_back(caplog: pytest.LogCaptureFixture) -> None:
    box, sent = Outbox(), list[int]()
    box.put(lambda: sent.append(1 // 0))
    box.put(lambda: sent.append(2))
    assert box.wait_empty(SOON)
    assert sent == [2]
    assert "a letter could not be sent" in caplog.text


class Gate:
    """A letter that waits until it is let through."""

    open = False
    reached = False

    def is_reached(self) -> bool:
        return self.reached

    def pass_through(self) -> None:
        self.reached = True
        wait_until(lambda: self.open, what="the open gate")
