"""The new-job page: check, submission, refusal, cloning."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from jobs.models import Dataset, Job, Node, Team, Weights

AsUser = Callable[[User], Client]
MISTAKES = {
    "devices": "eight",
    "train.seq_length": "7",
    "train.learning_rate": "2",
    "train.dataset.path": "/etc/passwd",
    "train.dataset.format": "moss2",
}


def test_a_stranger_to_the_site_is_sent_to_the_login(client: Client) -> None:
    for address in ("/jobs/new/", "/jobs/", "/datasets/"):
        assert client.get(address).headers["Location"] == f"/login/?next={address}"
    assert client.post("/jobs/check/").status_code == 302


def test_the_form_starts_with_the_teams_own_data(
    as_user: AsUser, alice: User, team: Team, inputs: dict[str, str], weights: Path, dataset: Path
) -> None:
    Dataset.objects.create(team=team, name="Greetings", path=str(dataset), format="sharegpt")
    Weights.objects.create(team=team, name="Sample", path=str(weights), model="smollm2-135m")
    page = as_user(alice).get("/jobs/new/").content.decode()
    assert f'value="{dataset}"' in page
    assert '<option value="sharegpt" selected>' in page
    assert '<option value="smollm2-135m" selected>' in page
    assert '<option value="cpu" selected>' in page


def test_a_good_form_is_told_its_plan(as_user: AsUser, alice: User, inputs: dict[str, str]) -> None:
    answer = as_user(alice).post("/jobs/check/", inputs).content.decode()
    assert "verdict-bad" not in answer
    assert "engine.preprocess" in answer
    assert "Data parallel size" in answer
    assert not Job.objects.exists()


def test_our_own_engine_takes_a_layout_from_the_form(as_user: AsUser, alice: User, inputs: dict[str, str]) -> None:
    cut = {"devices": "2", "train.layout.pipeline_parallel_size": "2"}
    answer = as_user(alice).post("/jobs/check/", inputs | cut).content.decode()
    assert "verdict-bad" not in answer
    assert "--nproc-per-node 2" in answer
    cut["train.layout.context_parallel_size"] = "2"
    answer = as_user(alice).post("/jobs/check/", inputs | cut).content.decode()
    assert 'data-field="train.layout.context_parallel_size" data-severity="error"' in answer


def test_the_check_reports_every_problem_at_once(as_user: AsUser, alice: User, inputs: dict[str, str]) -> None:
    answer = as_user(alice).post("/jobs/check/", {**inputs, **MISTAKES}).content.decode()
    for field in MISTAKES:
        assert f'data-field="{field}" data-severity="error"' in answer
    assert "engine.preprocess" not in answer


def test_the_check_shows_the_tables_number_and_a_way_out(as_user: AsUser, alice: User, inputs: dict[str, str]) -> None:
    """llama3.1-8b, full, 4096, MindSpeed-LLM on Snt9B: the table says 4."""
    Node.objects.create(
        name="far", hardware="snt9b", devices=8, frameworks={"mindspeed-llm": "2"}, last_seen=timezone.now()
    )
    asked = {
        **inputs,
        "model": "llama3.1-8b",
        "framework": "mindspeed-llm",
        "hardware": "snt9b",
        "devices": "2",
        "train.seq_length": "4096",
    }
    answer = as_user(alice).post("/jobs/check/", asked).content.decode()
    assert "llama3.1-8b, full, 4096, MindSpeed-LLM on Snt9B needs 4 cards; you chose 2." in answer
    assert "{&quot;devices&quot;: 4}" in answer


def test_submitting_queues_a_job_and_opens_its_page(as_user: AsUser, alice: User, inputs: dict[str, str]) -> None:
    response = as_user(alice).post("/jobs/new/", inputs)
    job = Job.objects.get()
    assert response.headers["Location"] == f"/jobs/{job.pk}/"
    assert (job.name, job.owner, job.last_run is not None) == ("first try", alice, True)


def test_a_refused_form_comes_back_with_its_values_and_all_problems(
    as_user: AsUser, alice: User, inputs: dict[str, str]
) -> None:
    response = as_user(alice).post("/jobs/new/", {**inputs, **MISTAKES})
    page = response.content.decode()
    assert response.status_code == 422
    assert not Job.objects.exists()
    assert page.count('aria-invalid="true"') == len(MISTAKES)
    assert 'data-first-problem="id_devices"' in page
    assert 'value="eight"' in page
    assert "moss2" in page
    assert 'value="first try"' in page


def test_a_proposed_change_is_filled_in_without_javascript(
    as_user: AsUser, alice: User, inputs: dict[str, str]
) -> None:
    wrong = {**inputs, "train.dataset.format": "sharegpt", "apply": json.dumps({"train.dataset.format": "alpaca"})}
    page = as_user(alice).post("/jobs/new/", wrong).content.decode()
    assert '<option value="alpaca" selected>' in page
    assert "engine.preprocess" in page
    assert not Job.objects.exists()


@pytest.mark.parametrize("proposal", ['{"name": "\\ud800"}', "[" * 100_000, '{"devices": [1]}', "{", "7"])
def test_an_unreadable_proposal_changes_nothing(
    as_user: AsUser, alice: User, inputs: dict[str, str], proposal: str
) -> None:
    response = as_user(alice).post("/jobs/new/", {**inputs, "apply": proposal})
    assert response.status_code == 200
    assert 'value="first try"' in response.content.decode()


def test_a_job_can_be_cloned_by_its_team_only(
    as_user: AsUser, alice: User, bob: User, charlie: User, make_job: Callable[..., Job]
) -> None:
    job = make_job(alice, **{"train.seq_length": "96"})
    page = as_user(bob).get(f"/jobs/new/?from={job.pk}").content.decode()
    assert 'value="96"' in page
    assert 'value="first try, again"' in page
    assert as_user(charlie).get(f"/jobs/new/?from={job.pk}").status_code == 404
    assert as_user(bob).get("/jobs/new/?from=x").status_code == 404


def test_a_job_goes_to_a_team_of_ones_own(as_user: AsUser, alice: User, charlie: User, inputs: dict[str, str]) -> None:
    foreign = Team.objects.get(name="Elsewhere")
    for team in (str(foreign.pk), "garbage", "-1", "9" * 40):
        assert as_user(alice).post("/jobs/new/", {**inputs, "team": team}).status_code == 403
    assert not Job.objects.exists()


def test_the_form_tells_who_works_in_no_team_nothing_about_files(as_user: AsUser, inputs: dict[str, str]) -> None:
    nobody = as_user(User.objects.create_user("nobody"))
    answer = nobody.post("/jobs/check/", {**inputs, "model_path": "/nowhere"}).content.decode()
    assert 'data-field="model_path"' not in answer
    assert nobody.post("/jobs/new/", inputs).status_code == 403


def test_the_check_speaks_chinese(as_user: AsUser, alice: User, inputs: dict[str, str]) -> None:
    answer = as_user(alice).post("/jobs/check/", {**inputs, "devices": "eight"}, headers={"accept-language": "zh-CN"})
    assert "Cannot start" not in answer.content.decode()
    assert "必须" in answer.content.decode() or "整数" in answer.content.decode()
