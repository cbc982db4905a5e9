"""A database that is locked or full is told as such, and never keeps a training running."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client

from engine.run_folder import write_atomic
from engine.runner import Result
from jobs.models import AuditEvent, Job, Run
from jobs.recorder import record
from jobs.states import RunState
from webui.forms import to_data

pytestmark = pytest.mark.django_db(transaction=True)
AsUser = Callable[[User], Client]


@contextmanager
def locked() -> Iterator[None]:
    """Somebody else writes, and does not come to an end."""
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        _execute("PRAGMA busy_timeout = 100")
        yield


@contextmanager
def read_only() -> Iterator[None]:
    """As on a file system that has gone read-only."""
    _execute("PRAGMA query_only = 1")
    yield


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture(params=[locked, read_only])
def away(request: pytest.FixtureRequest, db: None) -> Iterator[AbstractContextManager[None]]:
    """A time in which nothing can be written."""
    if connection.vendor != "sqlite":
        pytest.skip("the locks of another database are not these")
    yield request.param()
    connection.close()  # with what was set


@pytest.fixture
def run(alice: User, make_job: Callable[..., Job]) -> Run:
    run = make_job(alice).runs.get()
    run.advance(RunState.QUEUED, RunState.ASSIGNED)
    run.advance(RunState.ASSIGNED, RunState.RUNNING)
    run.folder.create()
    return run


def test_the_api_answers_with_a_finding(
    as_user: AsUser, alice: User, inputs: dict[str, str], away: AbstractContextManager[None]
) -> None:
    client, body = as_user(alice), json.dumps(to_data(inputs))
    with away:
        response = client.post("/api/jobs", body, content_type="application/json")
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    assert (response.json()["fits"], response.json()["problems"][0]["code"]) == (False, "site.database_away")
    assert not Job.objects.exists()


@pytest.mark.parametrize(("language", "words"), [("en", "The database is away"), ("zh-CN", "数据库")])
def test_a_page_says_so_in_the_readers_language(
    as_user: AsUser,
    alice: User,
    inputs: dict[str, str],
    away: AbstractContextManager[None],
    language: str,
    words: str,
) -> None:
    client = as_user(alice)
    with away:
        response = client.post("/jobs/new/", inputs, headers={"accept-language": language})
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    assert words in response.content.decode()


def test_a_failure_outside_of_the_views_is_told_alike(
    settings: LazySettings, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object) -> None:
        raise OperationalError("database is locked")

    settings.DEBUG = False
    client = Client(raise_request_exception=False)
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    settings.SESSION_SAVE_EVERY_REQUEST = True
    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.save", fail)
    assert client.get("/jobs/").status_code == 503
    assert client.get("/api/jobs").json()["problems"][0]["code"] == "site.database_away"


def test_a_running_training_is_stopped_all_the_same(
    as_user: AsUser, alice: User, run: Run, away: AbstractContextManager[None]
) -> None:
    client = as_user(alice)
    with away:
        response = client.post(f"/jobs/{run.job_id}/stop/", follow=True)
        assert run.folder.stop.exists()
        assert "has been asked to stop, but the database" in response.content.decode()
    connection.close()
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    result = Result(state="stopped", returncode=None, stage="train", finished_at=1.0, leftover_processes=0)
    write_atomic(run.folder.result, result.model_dump_json())
    record(run)
    assert run.state == RunState.STOPPED


def test_a_queued_run_cannot_be_stopped_then_and_it_is_said(
    as_user: AsUser, alice: User, make_job: Callable[..., Job], away: AbstractContextManager[None]
) -> None:
    client, job = as_user(alice), make_job(alice)
    with away:
        assert client.post(f"/jobs/{job.pk}/stop/").status_code == 503
    connection.close()
    assert job.runs.get().state == RunState.QUEUED
    assert not AuditEvent.objects.filter(action="run.stop").exists()


def test_another_team_raises_no_flag(
    as_user: AsUser, charlie: User, run: Run, away: AbstractContextManager[None]
) -> None:
    client = as_user(charlie)
    with away:
        assert client.post(f"/jobs/{run.job_id}/stop/").status_code == 404
    assert not run.folder.stop.exists()
