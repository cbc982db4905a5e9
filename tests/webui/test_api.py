"""The API gives the same answers as the form and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from engine.spec import JobSpec, canonical_json
from jobs.models import Dataset, Job, Team
from webui.forms import to_data

AsUser = Callable[[User], Client]


@pytest.fixture
def spec(inputs: dict[str, str]) -> dict[str, Any]:
    return to_data({**inputs, "train.global_batch_size": "8"})


def _post(client: Client, address: str, body: Any) -> Any:
    return client.post(address, json.dumps(body), content_type="application/json")


def _engine(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "LANG": "C.UTF-8", "LC_ALL": "en_US.UTF-8"}
    return subprocess.run(
        [sys.executable, "-m", "engine", *arguments],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        check=False,
    )


def test_form_api_and_command_line_give_the_same_plan(
    as_user: AsUser, alice: User, inputs: dict[str, str], spec: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec), encoding="utf-8")
    by_command = _engine("plan", str(file), "--json")
    assert by_command.returncode == 0, by_command.stderr

    by_api = _post(as_user(alice), "/api/plan", spec)
    assert by_api.status_code == 200
    as_user(alice).post("/jobs/new/", {**inputs, "train.global_batch_size": "8"})
    assert by_api.content == canonical_json(Job.objects.get().job_plan).encode()
    assert _without_time(by_api.content) == _without_time(by_command.stdout)


def _without_time(plan: bytes) -> dict[str, Any]:
    """How long it takes is known to a site, which knows its machines, and not to a command line."""
    found: dict[str, Any] = json.loads(plan)
    return found | {"eta": None, "reasons": [reason for reason in found["reasons"] if reason["decision"] != "eta"]}


def test_a_refusal_reads_like_the_command_lines(
    as_user: AsUser, alice: User, spec: dict[str, Any], tmp_path: Path
) -> None:
    wrong = {**spec, "devices": "eight", "model_path": str(tmp_path / "models" / "nothing")}
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(wrong), encoding="utf-8")
    by_command = _engine("check", str(file), "--json")
    assert by_command.returncode == 2
    by_api = _post(as_user(alice), "/api/check", wrong)
    assert by_api.status_code == 200
    assert json.loads(by_api.content) == json.loads(by_command.stdout)
    assert _post(as_user(alice), "/api/plan", wrong).status_code == 422


def test_a_job_is_queued_and_can_be_read_by_the_team(
    as_user: AsUser, alice: User, bob: User, charlie: User, spec: dict[str, Any]
) -> None:
    made = _post(as_user(alice), "/api/jobs", spec)
    assert made.status_code == 201
    number = made.json()["id"]
    seen = as_user(bob).get(f"/api/jobs/{number}").json()
    assert JobSpec.model_validate(seen["spec"]) == JobSpec.model_validate(spec)
    assert seen["run"]["state"] == "queued"
    assert [job["id"] for job in as_user(bob).get("/api/jobs").json()["jobs"]] == [number]
    assert as_user(charlie).get("/api/jobs").json() == {"jobs": [], "next": None}
    refused = as_user(charlie).get(f"/api/jobs/{number}")
    assert (refused.status_code, refused.json()["problems"][0]["code"]) == (404, "job.unknown")


def test_a_refused_job_is_not_queued(as_user: AsUser, alice: User, spec: dict[str, Any]) -> None:
    response = _post(as_user(alice), "/api/jobs", {**spec, "devices": 0})
    assert response.status_code == 422
    assert [problem["field"] for problem in response.json()["problems"] if problem["severity"] == "error"] == [
        "devices"
    ]
    assert not Job.objects.exists()


def test_a_team_of_others_is_refused(as_user: AsUser, alice: User, charlie: User, spec: dict[str, Any]) -> None:
    response = _post(as_user(alice), "/api/jobs?team=Elsewhere", spec)
    assert (response.status_code, response.json()["problems"][0]["code"]) == (403, "team.not_yours")


@pytest.mark.parametrize("body", [b"{", b'{"name": "\\ud800"}', b"\xff\xfe", b"[1]", b"[" * 5000, b"", b"null"])
def test_a_body_that_is_no_request_is_a_problem(as_user: AsUser, alice: User, tables: None, body: bytes) -> None:
    for address in ("/api/check", "/api/plan", "/api/jobs"):
        response = as_user(alice).post(address, body, content_type="application/json")
        assert response.status_code == (200 if address == "/api/check" else 422)
        assert response.json()["fits"] is False
        assert response.json()["problems"][0]["code"] in ("spec.not_json", "shape.not_object")


def test_who_works_in_no_team_is_told_nothing_about_files(as_user: AsUser, spec: dict[str, Any]) -> None:
    nobody = as_user(User.objects.create_user("nobody"))
    for address in ("/api/check", "/api/plan", "/api/jobs", "/api/check?team=Yard"):
        response = _post(nobody, address, {**spec, "model_path": "nowhere"})
        assert (response.status_code, response.json()["problems"][0]["code"]) == (403, "team.not_yours")


def test_data_of_another_team_is_refused(
    as_user: AsUser, charlie: User, team: Team, spec: dict[str, Any], dataset: Path
) -> None:
    Dataset.objects.create(team=team, name="ours", path=str(dataset), format="alpaca")
    response = _post(as_user(charlie), "/api/check", spec)
    errors = [problem["code"] for problem in response.json()["problems"] if problem["severity"] == "error"]
    assert errors == ["dataset.other_team"]
    assert team.name not in response.content.decode()
    assert _post(as_user(charlie), "/api/jobs", spec).status_code == 422


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
def test_a_body_that_is_too_big_is_a_finding(as_user: AsUser, alice: User, kind: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    client.get("/jobs/new/")
    token = {"X-CSRFToken": client.cookies["csrftoken"].value}
    for address in ("/api/check", "/api/plan", "/api/jobs"):
        response = client.post(address, b"x" * 3_000_000, content_type=kind, headers=token)
        assert (response.status_code, response.json()["problems"][0]["code"]) == (413, "request.too_big")


def test_without_a_login_nothing_is_told(client: Client) -> None:
    for response in (client.get("/api/jobs"), _post(client, "/api/check", {})):
        assert response.status_code == 401
        assert response.json()["problems"][0]["code"] == "login.needed"


def test_a_post_without_the_csrf_token_is_refused(alice: User, spec: dict[str, Any]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    assert _post(client, "/api/jobs", spec).status_code == 403
    assert not Job.objects.exists()


def test_messages_come_in_the_readers_language(as_user: AsUser, alice: User, spec: dict[str, Any]) -> None:
    response = as_user(alice).post(
        "/api/check",
        json.dumps({**spec, "devices": 0}),
        content_type="application/json",
        headers={"accept-language": "zh-CN"},
    )
    message = response.json()["problems"][0]["message"]
    assert any("\u4e00" <= letter <= "\u9fff" for letter in message)


def test_the_description_is_there_and_nothing_is_fetched_from_elsewhere(client: Client) -> None:
    described = client.get("/api/openapi.json").json()
    assert "/api/jobs" in described["paths"]
    assert client.get("/api/docs").status_code == 404
