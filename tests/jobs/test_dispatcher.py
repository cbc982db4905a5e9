from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs import waiting
from jobs.dispatcher import dispatch
from jobs.models import DeviceLease, Job, Node, Run
from jobs.states import RunState
from tests.jobs.rows import at_once, node, queued_run

pytestmark = pytest.mark.django_db


def states() -> list[str]:
    return list(Run.objects.order_by("id").values_list("state", flat=True))


def reason(run: Run) -> str:
    run.refresh_from_db()
    return run.waiting_for


def test_a_run_gets_all_its_devices_on_one_node() -> None:
    there = node(devices=4)
    run = queued_run(devices=3)
    before = run.token
    assert dispatch() == [run.pk]
    run.refresh_from_db()
    assert (run.state, run.node, run.waiting_for) == (RunState.ASSIGNED, there, "")
    assert run.token != before
    assert sorted(run.leases.values_list("device", flat=True)) == [0, 1, 2]


def test_the_oldest_goes_first_and_the_next_waits_for_its_devices() -> None:
    node(devices=2)
    first, second = queued_run(devices=2), queued_run(devices=1)
    assert dispatch() == [first.pk]
    assert reason(second) == waiting.DEVICES_BUSY
    first.refresh_from_db()
    first.advance(RunState.ASSIGNED, RunState.CANCELLED)
    assert dispatch() == [second.pk]


def test_small_runs_do_not_starve_an_older_big_one() -> None:
    node(devices=4)
    running, big, small = queued_run(devices=3), queued_run(devices=4), queued_run(devices=1)
    assert dispatch() == [running.pk]
    assert (reason(big), reason(small)) == (waiting.DEVICES_BUSY, waiting.DEVICES_BUSY)


def test_a_small_run_passes_an_older_one_where_it_takes_nothing_away() -> None:
    node("one", devices=4)
    node("two", devices=2)
    running, big, small = queued_run(devices=3), queued_run(devices=4), queued_run(devices=1)
    assert dispatch() == [running.pk, small.pk]
    assert reason(big) == waiting.DEVICES_BUSY


def test_the_fullest_node_that_fits_is_taken() -> None:
    node("large", devices=8)
    small = node("small", devices=2)
    run = queued_run(devices=2)
    dispatch()
    run.refresh_from_db()
    assert run.node == small


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (None, waiting.NO_NODE),
        ({"hardware": "cuda"}, waiting.NO_NODE),
        ({"last_seen": timezone.now() - timedelta(minutes=5)}, waiting.NO_NODE),
        ({"frameworks": {}}, waiting.NO_FRAMEWORK),
        ({"frameworks": {"native": "installing"}}, waiting.INSTALLING),
        ({"devices": 1}, waiting.TOO_FEW_DEVICES),
    ],
)
def test_a_run_says_why_it_waits(values: dict[str, object] | None, code: str) -> None:
    if values is not None:
        node(**values)
    run = queued_run(devices=2)
    assert dispatch() == []
    assert reason(run) == code
    assert run.waiting_text


def test_two_nodes_are_not_added_up() -> None:
    node("one", devices=2)
    node("two", devices=2)
    run = queued_run(devices=3)
    dispatch()
    assert reason(run) == waiting.TOO_FEW_DEVICES


def test_a_stored_spec_of_another_release_does_not_stop_the_queue() -> None:
    node()
    old, new = queued_run(), queued_run()
    Job.objects.filter(pk=old.job_id).update(spec={**old.job.spec, "spec_version": 0, "unknown": True})
    assert dispatch() == [old.pk, new.pk]


def test_every_reason_has_a_text() -> None:
    assert all(waiting.waiting_text(code) for code in waiting.CODES)
    assert waiting.waiting_text("") == ""


@pytest.mark.django_db(transaction=True)
def test_dispatchers_at_the_same_time_lease_no_device_twice(redis_server: object) -> None:
    one, two = node("one", devices=3), node("two", devices=3)
    for _ in range(12):
        queued_run(devices=1)
    at_once(4, dispatch)
    dispatch()  # whoever lost a race leaves the run for the next look
    leases = list(DeviceLease.objects.values_list("node", "device"))
    assert len(leases) == len(set(leases)) == 6
    assert states().count("assigned") == 6
    assert states().count("queued") == 6
    for run in Run.objects.filter(state=RunState.ASSIGNED):
        assert [lease.node for lease in run.leases.all()] == [run.node]
    assert {each.leases.count() for each in Node.objects.filter(pk__in=(one.pk, two.pk))} == {3}
