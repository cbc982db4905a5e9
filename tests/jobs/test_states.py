from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from jobs.models import Run, RunTransition
from jobs.states import COLOURS, ENDED, TRANSITIONS, RunState
from tests.jobs.rows import queued_run, run_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _here(data_dir: object) -> None:
    """Run folders go to a folder of the test's own."""


def test_a_step_is_taken_once_and_kept_in_the_history() -> None:
    run = queued_run()
    other = Run.objects.get(pk=run.pk)
    assert run.advance(RunState.QUEUED, RunState.CANCELLED, "asked")
    assert not other.advance(RunState.QUEUED, RunState.CANCELLED)
    assert [(step.old, step.new, step.reason) for step in RunTransition.objects.filter(run=run)] == [
        ("queued", "cancelled", "asked")
    ]
    assert run.ended
    assert run.finished_at is not None


def test_a_step_that_is_not_drawn_is_an_error() -> None:
    run = queued_run()
    with pytest.raises(ValueError, match="cannot go from queued to succeeded"):
        run.advance(RunState.QUEUED, RunState.SUCCEEDED)


def test_an_outdated_token_moves_nothing() -> None:
    run = run_in(RunState.ASSIGNED)
    assert not run.advance(RunState.ASSIGNED, RunState.RUNNING, if_token=uuid4())
    assert run.advance(RunState.ASSIGNED, RunState.RUNNING, if_token=run.token)


@pytest.mark.parametrize("end", [RunState.SUCCEEDED, RunState.FAILED, RunState.LOST, RunState.STOPPED])
def test_an_ended_run_holds_no_device(end: RunState) -> None:
    run = run_in(RunState.RUNNING)
    assert run.leases.count() == 1
    run.advance(RunState.RUNNING, end)
    assert run.leases.count() == 0


def test_a_run_that_is_put_back_holds_no_device() -> None:
    run = run_in(RunState.ASSIGNED)
    run.advance(RunState.ASSIGNED, RunState.QUEUED)
    assert run.leases.count() == 0


def test_every_state_has_its_steps_and_its_colour() -> None:
    assert set(TRANSITIONS) == set(COLOURS) == {str(state) for state in RunState}
    assert all(not TRANSITIONS[state] for state in ENDED)


def test_a_change_is_announced_when_it_is_committed_and_not_before(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    told: list[int] = []
    monkeypatch.setattr("jobs.announce.run_changed", told.append)
    run = queued_run()
    with django_capture_on_commit_callbacks(execute=True):
        run.advance(RunState.QUEUED, RunState.CANCELLED)
        assert told == []
    assert told == [run.pk]
