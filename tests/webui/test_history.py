"""The job history: who sees what, filters, paging, and a constant number of queries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Job, Run, Team
from jobs.states import RunState
from webui.history import jobs_of, page

AsUser = Callable[[User], Client]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def many_jobs(alice: User, team: Team) -> list[int]:
    """Seven jobs, newest first; the middle three were made at the same instant."""
    minutes = [0, 1, 2, 2, 2, 3, 4]
    made = Job.objects.bulk_create(
        Job(team=team, owner=alice, name=f"job {number}", model="m", spec={}, plan={}) for number in range(7)
    )
    for job, minute in zip(made, minutes, strict=True):
        Job.objects.filter(pk=job.pk).update(created=NOON + timedelta(minutes=minute))
        Run.objects.create(job=job, number=1, state=RunState.FAILED)
    return [job.pk for job in reversed(made)]


def test_paging_by_cursor_shows_every_job_once(alice: User, many_jobs: list[int]) -> None:
    seen: list[int] = []
    cursor: str | None = None
    for _step in range(4):
        found = page(jobs_of(alice), cursor, size=2)
        seen += [job.pk for job in found.jobs]
        cursor = found.next_cursor
    assert seen == many_jobs
    assert cursor is None


def test_a_job_made_meanwhile_does_not_shift_the_pages(alice: User, team: Team, many_jobs: list[int]) -> None:
    first = page(jobs_of(alice), None, size=3)
    Job.objects.create(team=team, owner=alice, name="late", model="m", spec={}, plan={})
    assert [job.pk for job in page(jobs_of(alice), first.next_cursor, size=9).jobs] == many_jobs[3:]


def test_an_unreadable_cursor_means_the_first_page(alice: User, many_jobs: list[int]) -> None:
    for cursor in ("x", "2026-01-01_", "_7", "2026-13-45T00:00:00+00:00_1"):
        assert page(jobs_of(alice), cursor, size=2).jobs[0].pk == many_jobs[0]


def test_the_list_shows_the_last_run(as_user: AsUser, alice: User, make_job: Callable[..., Job]) -> None:
    job = make_job(alice)
    Run.objects.filter(job=job).update(state=RunState.FAILED)
    started = NOON
    Run.objects.create(
        job=job,
        number=2,
        state=RunState.SUCCEEDED,
        stage="train",
        progress={"done": 5, "total": 20},
        metrics={"lm_loss": 1.23456},
        started_at=started,
        finished_at=started + timedelta(hours=1, minutes=2, seconds=3),
    )
    shown = as_user(alice).get("/jobs/").content.decode()
    for words in ("Succeeded", "attempt 2", "100%", "1.2346", "1:02:03"):
        assert words in shown
    assert "state-danger" not in shown


def test_the_team_sees_its_jobs_and_a_stranger_none(
    as_user: AsUser, alice: User, bob: User, charlie: User, make_job: Callable[..., Job]
) -> None:
    job = make_job(alice)
    assert "first try" in as_user(bob).get("/jobs/").content.decode()
    assert "first try" not in as_user(charlie).get("/jobs/").content.decode()
    assert as_user(bob).get(f"/jobs/{job.pk}/row/").status_code == 200
    assert as_user(charlie).get(f"/jobs/{job.pk}/row/").status_code == 404


def test_filters_narrow_the_list(as_user: AsUser, alice: User, bob: User, make_job: Callable[..., Job]) -> None:
    make_job(alice, name="red signal")
    green = make_job(bob, name="green signal")
    Run.objects.filter(job=green).update(state=RunState.RUNNING)
    client = as_user(alice)
    for query in ("text=GREEN", "state=running", f"owner={bob.pk}", "text=signal&state=running"):
        shown = client.get(f"/jobs/?{query}").content.decode()
        assert "green signal" in shown
        assert "red signal" not in shown
    assert "No job matches" in client.get("/jobs/?text=nothing").content.decode()
    assert "red signal" in client.get("/jobs/?model=smollm2-135m").content.decode()


def test_the_number_of_queries_does_not_grow(as_user: AsUser, alice: User, team: Team, many_jobs: list[int]) -> None:
    client = as_user(alice)
    client.get("/jobs/")
    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get("/jobs/")
    for number in range(30):
        job = Job.objects.create(team=team, owner=alice, name=f"more {number}", model="m", spec={}, plan={})
        Run.objects.create(job=job, number=1)
    with CaptureQueriesContext(connection) as many:
        client.get("/jobs/")
    assert len(many) == len(few)
    assert len(many) <= 9


def test_an_empty_history_invites(as_user: AsUser, alice: User) -> None:
    assert "No jobs yet" in as_user(alice).get("/jobs/").content.decode()


def test_names_are_never_markup(as_user: AsUser, alice: User, make_job: Callable[..., Job]) -> None:
    make_job(alice, name="<script>alert(1)</script>")
    assert "<script>alert" not in as_user(alice).get("/jobs/").content.decode()
