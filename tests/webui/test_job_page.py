"""The job page: who sees it, and that rows and files alone make it complete."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.events import Event
from engine.formats import Broken
from engine.preparation import Dropped
from engine.problems import Problem
from engine.run_folder import write_atomic
from jobs.models import Job, Run
from jobs.recorder import record
from jobs.states import RunState

AsUser = Callable[[User], Client]
MakeJob = Callable[..., Job]


class Writer:
    """Writes a run's events as its runner does."""

    def __init__(self, run: Run) -> None:
        self.folder = run.folder
        self.folder.create()
        self.seq = 0

    def tell(self, kind: Any, stage: str = "", at: float = 1000.0, **data: Any) -> None:
        self.seq += 1
        event = Event(seq=self.seq, time=at, stage=stage, kind=kind, data=data)
        with self.folder.events.open("ab") as file:
            file.write(event.line())


@pytest.fixture
def job(make_job: MakeJob, alice: User) -> Job:
    return make_job(alice)


@pytest.fixture
def run(job: Job) -> Run:
    run = job.last_run
    assert run is not None
    return run


def advance(run: Run, *states: RunState) -> None:
    for state in states:
        assert run.advance(RunState(run.state), state)


def whole_story(run: Run) -> Writer:
    """A run that has trained, exported and met a problem."""
    writer = Writer(run)
    writer.tell("started", "preprocess", argv=["python", "-m", "engine.preprocess"], pid=1)
    writer.tell("finished", "preprocess", at=1065.0, state="succeeded", returncode=0)
    writer.tell("started", "train", at=1065.0, argv=["python"], pid=2)
    writer.tell("metric", "train", iteration=7, total_iterations=20, lm_loss=1.23456, learning_rate=1.5e-5)
    writer.tell("progress", "train", done=7, total=20, unit="iterations", seconds_left=133.0)
    problem = Problem(code="stage.failed", field="", parameters={"stage": "train", "returncode": 9, "log": "x.log"})
    writer.tell("problem", "train", problem=problem.model_dump(mode="json"))
    answers = [{"prompt": "Who are you?", "before": "I am <b>bold</b>.", "after": "A yard hand."}]
    write_atomic(writer.folder.samples, json.dumps(answers))
    (writer.folder.output / "model").mkdir()
    (writer.folder.output / "model" / "config.json").write_text("{}")
    writer.folder.log("train").write_text("hello\n")
    return writer


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def get(client: Client, path: str, **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_the_page_tells_the_whole_story(as_user: AsUser, alice: User, job: Job, run: Run) -> None:
    whole_story(run)
    record(run)
    html = get(as_user(alice), f"/jobs/{job.pk}/")
    text = text_of(html)
    for expected in (
        job.name,
        "preprocess Succeeded · 0:01:05",
        "train Running",
        "export Waiting",
        "7 / 20",
        "1.235",
        "1.5e-5",
        "35%",
        "0:02:13 left",
        "The stage train ended with the exit code 9.",
        "The cause is at the end of the log x.log.",
        "Who are you?",
        "A yard hand.",
        str(run.folder.output / "model"),
        "logs/train.0.log",
        "train.seq_length 128",
        "engine.training",
    ):
        assert expected in text, expected
    assert "I am &lt;b&gt;bold&lt;/b&gt;." in html


def test_the_page_does_not_need_the_recorder(as_user: AsUser, alice: User, job: Job, run: Run) -> None:
    """Rows that are behind are carried on by the events; in the end both ways show the same."""
    whole_story(run)
    before = text_of(get(as_user(alice), f"/jobs/{job.pk}/header/"))
    record(run)
    run.refresh_from_db()
    assert run.recorded_offset > 0
    after = text_of(get(as_user(alice), f"/jobs/{job.pk}/header/"))
    clock = re.compile(r"Running · [\d:]+")  # the running stage's time goes on
    assert clock.sub("", after) == clock.sub("", before)


def test_problems_and_reasons_are_in_the_readers_language(as_user: AsUser, alice: User, job: Job, run: Run) -> None:
    whole_story(run)
    html = get(as_user(alice), f"/jobs/{job.pk}/", **{"accept-language": "zh-hans"})
    assert "阶段 train 以退出码 9 结束。" in html
    assert "1 个进程容纳整个模型。" in html


def test_an_unset_setting_shows_what_the_planner_has_chosen(as_user: AsUser, alice: User, job: Job) -> None:
    text = text_of(get(as_user(alice), f"/jobs/{job.pk}/"))
    chosen = job.plan["batch"]["micro_batch_size"]
    assert job.spec["train"]["micro_batch_size"] is None
    assert f"train.micro_batch_size {chosen} planned" in text


def test_no_script_or_style_is_inline(as_user: AsUser, alice: User, job: Job, run: Run) -> None:
    whole_story(run)
    html = get(as_user(alice), f"/jobs/{job.pk}/")
    assert re.search(r"<script(?![^>]*\bsrc=)", html) is None
    assert re.search(r"<style|\sstyle=|\son\w+=", html) is None


@pytest.mark.parametrize("path", ["", "header/"])
def test_another_team_finds_nothing(as_user: AsUser, charlie: User, bob: User, job: Job, path: str) -> None:
    assert as_user(charlie).get(f"/jobs/{job.pk}/{path}").status_code == 404
    assert as_user(bob).get(f"/jobs/{job.pk}/{path}").status_code == 200


def test_a_stranger_is_sent_to_the_login(job: Job) -> None:
    response = Client().get(f"/jobs/{job.pk}/")
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/login/")
    assert Client().get(f"/jobs/{job.pk}/header/").status_code == 404


def test_a_queued_run_can_be_cancelled(as_user: AsUser, alice: User, job: Job, run: Run) -> None:
    assert as_user(alice).post(f"/jobs/{job.pk}/stop/").status_code == 302
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


def test_a_running_run_is_asked_to_stop(as_user: AsUser, alice: User, job: Job, run: Run) -> None:
    Writer(run)
    advance(run, RunState.ASSIGNED, RunState.RUNNING)
    client = as_user(alice)
    client.post(f"/jobs/{job.pk}/stop/")
    run.refresh_from_db()
    assert run.state == RunState.STOPPING
    assert run.folder.stop.exists()
    assert "Stopping…" in get(client, f"/jobs/{job.pk}/header/")


def test_another_team_cannot_stop_or_start_anything(as_user: AsUser, charlie: User, job: Job, run: Run) -> None:
    for action in ("stop", "again"):
        assert as_user(charlie).post(f"/jobs/{job.pk}/{action}/").status_code == 404
    run.refresh_from_db()
    assert (run.state, job.runs.count()) == (RunState.QUEUED, 1)


@pytest.mark.parametrize("action", ["stop", "again"])
def test_nothing_happens_by_looking_at_an_address(
    as_user: AsUser, alice: User, job: Job, run: Run, action: str
) -> None:
    assert as_user(alice).get(f"/jobs/{job.pk}/{action}/").status_code == 405


def test_a_new_attempt_that_cannot_start_is_refused_with_its_problems(
    as_user: AsUser, alice: User, job: Job, run: Run, dataset: Path
) -> None:
    advance(run, RunState.ASSIGNED, RunState.RUNNING, RunState.FAILED)
    dataset.unlink()
    page = as_user(alice).post(f"/jobs/{job.pk}/again/", follow=True).content.decode()
    assert f"There is no file {dataset}" in page
    assert job.runs.count() == 1


def test_a_new_attempt_is_shown_and_the_old_one_kept(as_user: AsUser, alice: User, job: Job, run: Run) -> None:
    whole_story(run)
    client = as_user(alice)
    client.post(f"/jobs/{job.pk}/again/")
    assert job.runs.count() == 1  # the first has not ended
    advance(run, RunState.ASSIGNED, RunState.RUNNING, RunState.FAILED)
    client.post(f"/jobs/{job.pk}/again/")
    last = job.last_run
    assert last is not None
    assert last.number == 2
    assert f"/ws/runs/{last.pk}/" in get(client, f"/jobs/{job.pk}/")
    old = get(client, f"/jobs/{job.pk}/?attempt=1")
    assert f"/ws/runs/{run.pk}/" in old
    assert "A yard hand." in old
    assert client.get(f"/jobs/{job.pk}/?attempt=7").status_code == 404


@pytest.mark.parametrize(("severity", "title"), [("error", "Problems"), ("warning", "Remarks"), ("note", "Remarks")])
def test_a_warning_of_a_run_does_not_look_like_a_failure(
    as_user: AsUser, alice: User, run: Run, severity: Any, title: str
) -> None:
    problem = Problem(
        code="preprocess.rows_shortened",
        field="train.seq_length",
        severity=severity,
        parameters={"read": 5, "shortened": 2, "seq_length": 64},
    )
    Writer(run).tell("problem", "preprocess", problem=problem.model_dump(mode="json"))
    page = get(as_user(alice), f"/jobs/{run.job_id}/")
    assert "2 of 5 rows were shortened to 64 tokens." in text_of(page)
    assert f'<h2 id="problems-title">{title}</h2>' in page
    assert ("only-remarks" in page) == (severity != "error")


COUNT = {"done": 2, "total": 3, "unit": "stages", "seconds_left": None}


def progress_words(page: str) -> str:
    found = re.search(r"data-progress-words>(.*?)</span>", page)
    assert found is not None
    return found[1]


def test_the_count_of_stages_does_not_move_the_bar(as_user: AsUser, alice: User, job: Job, run: Run) -> None:
    writer = whole_story(run)
    writer.tell("progress", **COUNT)
    advance(run, RunState.ASSIGNED, RunState.RUNNING)
    page = get(as_user(alice), f"/jobs/{job.pk}/header/")
    assert progress_words(page) == "train · 7 / 20 iterations · 35%"
    assert 'value="35"' in page


def test_an_older_row_with_the_count_of_stages_shows_no_odd_line(
    as_user: AsUser, alice: User, job: Job, run: Run
) -> None:
    advance(run, RunState.ASSIGNED, RunState.RUNNING)
    Run.objects.filter(pk=run.pk).update(progress={**COUNT, "stage": ""})
    client = as_user(alice)
    assert progress_words(get(client, f"/jobs/{job.pk}/header/")) == ""
    assert "66%" not in get(client, "/jobs/")


def test_a_run_that_succeeded_has_a_full_bar_and_nothing_beside_it(
    as_user: AsUser, alice: User, job: Job, run: Run
) -> None:
    whole_story(run).tell("progress", **{**COUNT, "done": 3})
    advance(run, RunState.ASSIGNED, RunState.RUNNING, RunState.SUCCEEDED)
    page = get(as_user(alice), f"/jobs/{job.pk}/header/")
    assert progress_words(page) == ""
    assert 'value="100"' in page


@pytest.mark.parametrize("state", [None, RunState.STOPPED, RunState.FAILED])
def test_answers_that_never_come_are_not_promised(
    as_user: AsUser, alice: User, job: Job, run: Run, state: RunState | None
) -> None:
    answers = [{"prompt": "Who are you?", "before": "A hand.", "after": None}]
    write_atomic(Writer(run).folder.samples, json.dumps(answers))
    advance(run, RunState.ASSIGNED, RunState.RUNNING, *([] if state is None else [state]))
    page = get(as_user(alice), f"/jobs/{job.pk}/header/")
    assert ("The training did not end." in page) == (state is not None)
    assert ("Comes when the training has ended." in page) == (state is None)
    assert ("Run again from the start" in page) == (state is not None)


HOSTILE = "<b>.jsonl"


def test_what_became_of_the_rows_is_shown_in_both_languages(as_user: AsUser, alice: User, job: Job, run: Run) -> None:
    dropped, packing = Dropped(), {"sequences": 400, "padding_share": 0.021}
    dropped.add_broken(Broken(17, "row.missing_key", {"key": "output"}, HOSTILE))
    dropped.add_broken(Broken(18, "json.syntax", {"column": 3, "expected": "x"}, HOSTILE, ends=True))
    template = {"name": "tokenizer", "source": "tokenizer", "notes": ["template.tools_as_text"]}
    told = {"rows_read": 1234, "rows_kept": 1232, "rows_shortened": 9, "packing": packing, "chat_template": template}
    run.folder.create()
    run.folder.data.mkdir(exist_ok=True)
    write_atomic(run.folder.data / "report.json", json.dumps({**told, **dropped.to_json()}))
    page = as_user(alice).get(f"/jobs/{job.pk}/", headers={"accept-language": "en"}).content.decode()
    chinese = as_user(alice).get(f"/jobs/{job.pk}/", headers={"accept-language": "zh-hans"}).content.decode()
    for text in (page, chinese):
        assert all(word in text for word in ("1,234", "1,232", "400", "2.1", "&lt;b&gt;.jsonl:17"))
        assert HOSTILE not in text
    assert "The key output is missing." in page
    assert "all behind is lost" in page
    assert "Should rows describe tools: the chat template knows none" in page
    assert "缺少键 output。" in chinese
    assert "丢失多少行无法得知" in chinese


@pytest.mark.parametrize("text", ["{", '{"rows_written": 3}', "[]"])
def test_a_report_of_the_rows_that_cannot_be_read_is_not_shown(
    as_user: AsUser, alice: User, job: Job, run: Run, text: str
) -> None:
    run.folder.create()
    run.folder.data.mkdir(exist_ok=True)
    write_atomic(run.folder.data / "report.json", text)
    response = as_user(alice).get(f"/jobs/{job.pk}/")
    assert (response.status_code, b"prepared-title" in response.content) == (200, False)
