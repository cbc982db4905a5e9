"""Pages of a dataset: for its team alone, with what reports say, and safe with whatever is in the data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from engine.dataset_report import (
    Asked,
    AtLength,
    Bar,
    DatasetReport,
    Drop,
    Duplicates,
    Example,
    FileReport,
    FormatChoice,
    Lengths,
    Pair,
    Place,
    Rows,
    RowView,
    Token,
)
from engine.problems import Problem
from jobs.datasets import rows
from jobs.datasets.inspections import DROPS, ask, record
from jobs.datasets.versions import current_version
from jobs.models import Dataset, Inspection, Job, Team, Weights
from tests.webui.test_assets import AsUser

HOSTILE = "<script>alert(1)</script>"


def report(**changes: Any) -> DatasetReport:
    """A report of the engine's own shape, with a little of everything."""
    counts = Rows(read=51_200, kept=51_197, shortened=10, dropped=3)
    place = Example(file=0, row=7, line=7, parameters={"key": HOSTILE})
    choice = FormatChoice(used="alpaca", sniffed="alpaca", asked=None, why="sniff.alpaca", parameters={"keys": HOSTILE})
    file = FileReport(path=f"{HOSTILE}.jsonl", size=9, first_row=1, format=choice, rows=counts)
    at = AtLength(
        seq_length=4096, asked=True, rows_whole=45_053, rows_cut=6_144, rows_dropped=0, rows_at_or_over=6_144,
        tokens_lost=9, trained_tokens_lost=3, sequences=51_197, padding_share=0.5, packed_sequences=9,
        packed_padding_share=0.01,
    )  # fmt: skip
    values = {
        "asked": Asked(input="x"),
        "usable": True,
        "files": (file,),
        "rows": counts,
        "drops": (Drop(reason="row.missing_key", rows=3, examples=(place,)),),
        "duplicates": Duplicates(rows=1, examples=(Pair(first=Place(file=0, row=1, line=1), again=place),)),
        "tokens": Lengths(unit="tokens", total=9, longest=5000, histogram=(Bar(start=0, end=64, rows=51_197),)),
        "seq_lengths": (at,),
    }
    return DatasetReport.model_validate({**values, **changes})


@pytest.fixture
def entry(team: Team, dataset: Path) -> Dataset:
    return Dataset.objects.create(team=team, name="Greetings", path=str(dataset), format="alpaca")


def finished(entry: Dataset, answer: str, asked: dict[str, Any] | None = None, code: str = "0") -> Inspection:
    """As the engine's process leaves it."""
    found = ask(entry, asked or {"format": "alpaca"}, None)
    found.folder.mkdir(parents=True, exist_ok=True)
    (found.folder / "answer.json").write_text(answer, encoding="utf-8")
    (found.folder / "returncode").write_text(code)
    return record(found)


@pytest.fixture
def done(entry: Dataset) -> Inspection:
    found = finished(entry, report().model_dump_json())
    (found.folder / DROPS).write_text('{"row": 7}\n')
    return found


def addresses(entry: Dataset, done: Inspection) -> list[str]:
    at = f"/datasets/{entry.pk}"
    return [
        f"{at}/",
        f"{at}/?report={done.pk}",
        f"{at}/rows/1/",
        f"{at}/reports/{done.pk}/state/",
        f"{at}/reports/{done.pk}/report.json",
        f"{at}/reports/{done.pk}/dropped.jsonl",
        f"{at}/reports/{done.pk}/rows/1/",
    ]


def test_the_team_and_an_admin_see_every_page(
    as_user: AsUser, alice: User, bob: User, admin_user: User, entry: Dataset, done: Inspection
) -> None:
    for person in (alice, bob, admin_user):
        client = as_user(person)
        assert [client.get(url).status_code for url in addresses(entry, done)] == [200] * 7
        assert client.post(f"/datasets/{entry.pk}/inspect/", {"train.dataset.format": "alpaca"}).status_code == 302


def test_strangers_find_nothing(as_user: AsUser, charlie: User, entry: Dataset, done: Inspection) -> None:
    client = as_user(charlie)
    assert [client.get(url).status_code for url in addresses(entry, done)] == [404] * 7
    assert client.post(f"/datasets/{entry.pk}/inspect/").status_code == 404
    assert "Greetings" not in client.get("/datasets/").content.decode()


def test_who_is_not_logged_in_sees_nothing(client: Client, entry: Dataset, done: Inspection) -> None:
    assert [client.get(url).status_code for url in addresses(entry, done)] == [302, 302, 302, 404, 404, 404, 404]
    assert client.post(f"/datasets/{entry.pk}/inspect/").status_code == 302


def test_a_report_of_one_dataset_is_not_found_under_another(
    as_user: AsUser, alice: User, team: Team, entry: Dataset, done: Inspection, data_dir: Path
) -> None:
    other = Dataset.objects.create(team=team, name="Other", path=str(data_dir / "datasets" / "none.json"))
    client = as_user(alice)
    for path in ("state/", "report.json", "dropped.jsonl", "rows/1/"):
        assert client.get(f"/datasets/{other.pk}/reports/{done.pk}/{path}").status_code == 404


@pytest.mark.parametrize("path", ["rows/0/", "rows/99999999999999999999999/", "rows/-1/", "rows/x/", "reports/1/../"])
def test_there_are_no_such_addresses(as_user: AsUser, alice: User, entry: Dataset, path: str) -> None:
    assert as_user(alice).get(f"/datasets/{entry.pk}/{path}").status_code == 404


def test_a_change_wants_a_token(alice: User, entry: Dataset) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice, backend="django.contrib.auth.backends.ModelBackend")
    assert client.post(f"/datasets/{entry.pk}/inspect/").status_code == 403


def test_the_report_is_shown_and_nothing_in_it_is_markup(
    as_user: AsUser, alice: User, entry: Dataset, done: Inspection
) -> None:
    page = as_user(alice).get(f"/datasets/{entry.pk}/").content.decode()
    assert "51,200" in page
    assert f"/datasets/{entry.pk}/rows/7/?report={done.pk}" in page
    assert "The rows have a question and an answer: &lt;script&gt;" in page
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "12 %" in page


def test_the_list_has_the_short_line(as_user: AsUser, alice: User, entry: Dataset, done: Inspection) -> None:
    page = as_user(alice).get("/datasets/").content.decode()
    assert "51,200 rows; 3 dropped; at 4096 12 % are cut" in page


def test_the_list_asks_as_many_questions_for_many_datasets_as_for_one(
    as_user: AsUser, alice: User, team: Team, entry: Dataset, done: Inspection
) -> None:
    client = as_user(alice)
    with CaptureQueriesContext(connection) as one:
        client.get("/datasets/")
    for number in range(30):
        Dataset.objects.create(team=team, name=f"n{number}", path=f"{entry.path}{number}", format="alpaca")
    with CaptureQueriesContext(connection) as many:
        client.get("/datasets/")
    assert len(many) == len(one)


def test_a_change_of_the_data_is_said_and_the_old_report_stays(
    as_user: AsUser, alice: User, entry: Dataset, done: Inspection, dataset: Path
) -> None:
    dataset.write_text('[{"instruction": "a", "output": "b"}]')
    page = as_user(alice).get(f"/datasets/{entry.pk}/").content.decode()
    assert "it is version 2 now, and the report below is about version 1" in page
    assert "51,200" in page


def test_a_dataset_whose_file_is_gone_says_so(as_user: AsUser, alice: User, entry: Dataset, dataset: Path) -> None:
    current_version(entry)
    dataset.unlink()
    page = as_user(alice).get(f"/datasets/{entry.pk}/").content.decode()
    assert "Nothing that can be used lies at this path now." in page
    response = as_user(alice).post(f"/datasets/{entry.pk}/inspect/", {}, follow=True)
    assert "Nothing that can be used lies at this path now." in response.content.decode()


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ("", "-9", "-9"),
        ('{"problems": []}', "3", "There is no report"),
        ("{", "1", "There is no report"),
        (json.dumps({"problems": [Problem(code="disk.full", field="").model_dump(mode="json")]}), "3", "disk"),
        ("", "timeout", "It took too long"),
    ],
)
def test_a_report_that_failed_says_why_and_can_be_run_again(
    as_user: AsUser, alice: User, entry: Dataset, answer: str, code: str, words: str
) -> None:
    found = finished(entry, answer, code=code)
    page = as_user(alice).get(f"/datasets/{entry.pk}/?report={found.pk}").content.decode()
    assert found.state == "failed"
    assert words in page
    assert 'name="again"' in page


def test_the_format_can_be_overruled_and_is_kept(as_user: AsUser, alice: User, entry: Dataset) -> None:
    asked = {"train.dataset.format": "sharegpt", "train.dataset.columns.messages": "talk", "seq_length": "512"}
    assert as_user(alice).post(f"/datasets/{entry.pk}/inspect/", asked).status_code == 302
    entry.refresh_from_db()
    assert (entry.format, entry.options) == ("sharegpt", {"train.dataset.columns.messages": "talk"})
    found = Inspection.objects.get()
    assert found.asked == {"format": "sharegpt", "columns": {"messages": "talk"}, "seq_length": 512}
    page = as_user(alice).get("/jobs/new/").content.decode()
    assert "train.dataset.columns.messages" in page


@pytest.mark.parametrize("asked", [{"tokenizer": "/etc"}, {"seq_length": "x"}, {"train.dataset.format": "exe"}])
def test_settings_that_make_no_sense_are_refused(
    as_user: AsUser, alice: User, entry: Dataset, asked: dict[str, str]
) -> None:
    assert as_user(alice).post(f"/datasets/{entry.pk}/inspect/", asked).status_code == 422
    assert not Inspection.objects.exists()


def test_a_tokenizer_of_another_team_cannot_be_chosen(
    as_user: AsUser, alice: User, charlie: User, entry: Dataset, weights: Path
) -> None:
    other = Team.objects.get(name="Elsewhere")
    Weights.objects.create(team=other, name="theirs", path=str(weights), model="smollm2-135m")
    assert as_user(alice).post(f"/datasets/{entry.pk}/inspect/", {"tokenizer": str(weights)}).status_code == 422


def view(**changes: Any) -> RowView:
    tokens = (
        Token(position=0, id=1, text="<|im_start|>", special=True, trained=False),
        Token(position=1, id=2, text=f"{HOSTILE}\n", special=False, trained=False),
        Token(position=2, id=3, text="yes", special=False, trained=True),
    )
    values = {
        "asked": Asked(input="x", tokenizer="t"), "path": "rows.json", "place": Place(file=0, row=5, line=9),
        "rows": 20, "format": "alpaca", "raw": f'{{"instruction": "{HOSTILE}"}}', "raw_size": 40, "tokens": tokens,
        "token_count": 3, "trained_tokens": 1,
    }  # fmt: skip
    return RowView.model_validate({**values, **changes})


def seen(done: Inspection, shape: RowView, row: int = 5, tokens: int = rows.TOKENS) -> None:
    folder = done.folder / "rows" / f"{row}.{tokens}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "answer.json").write_text(shape.model_dump_json(), encoding="utf-8")
    (folder / "returncode").write_text("0")


def test_a_row_shows_raw_and_tokens_and_nothing_in_it_is_markup(
    as_user: AsUser, alice: User, entry: Dataset, done: Inspection
) -> None:
    seen(done, view())
    page = as_user(alice).get(f"/datasets/{entry.pk}/rows/5/").content.decode()
    assert HOSTILE not in page
    assert '<span class="token trained" title="2: 3">yes</span>' in page
    assert '<span class="token context special" title="0: 1">&lt;|im_start|&gt;</span>' in page
    assert f"/datasets/{entry.pk}/rows/4/?report={done.pk}" in page
    assert f"/datasets/{entry.pk}/rows/6/?report={done.pk}" in page


def test_a_broken_row_has_its_reason_and_its_raw_text(
    as_user: AsUser, alice: User, entry: Dataset, done: Inspection
) -> None:
    seen(done, view(tokens=None, token_count=None, reason="row.missing_key", parameters={"key": HOSTILE}))
    page = as_user(alice).get(f"/datasets/{entry.pk}/rows/5/").content.decode()
    assert "This row is dropped." in page
    assert HOSTILE not in page


def test_a_long_row_is_cut_with_a_way_to_all_of_it(
    as_user: AsUser, alice: User, entry: Dataset, done: Inspection
) -> None:
    long = view(raw="x" * 50_000, raw_size=50_000, token_count=9000)
    seen(done, long)
    seen(done, long, tokens=rows.ALL_TOKENS)
    client = as_user(alice)
    page = client.get(f"/datasets/{entry.pk}/rows/5/").content.decode()
    assert "x" * 20_001 not in page
    assert "8997 more tokens" in page.replace(",", "")
    assert f'href="?report={done.pk}&amp;all=1"' in page
    assert "x" * 50_000 in client.get(f"/datasets/{entry.pk}/rows/5/?all=1").content.decode()


def test_a_row_that_is_not_there_yet_is_waited_for(
    as_user: AsUser, alice: User, entry: Dataset, done: Inspection
) -> None:
    page = as_user(alice).get(f"/datasets/{entry.pk}/rows/6/").content.decode()
    at = f"/datasets/{entry.pk}/reports/{done.pk}/rows/6/"
    assert f'data-wait="{at}"' in page
    assert as_user(alice).get(at).json() == {"ended": False}
    seen(done, view(), row=6)
    assert as_user(alice).get(at).json() == {"ended": True}


def test_the_form_of_a_new_job_says_what_is_known(
    as_user: AsUser, alice: User, entry: Dataset, done: Inspection, inputs: dict[str, str]
) -> None:
    client = as_user(alice)
    page = client.post("/jobs/check/", {**inputs, "train.seq_length": "4096"}).content.decode()
    assert "51,200 rows; 3 dropped; at 4096 12 % are cut" in page
    assert f'href="/datasets/{entry.pk}/"' in page
    Path(entry.path).write_text('[{"instruction": "a", "output": "b"}]')
    assert "nobody has looked at this data yet" in client.post("/jobs/check/", inputs).content.decode()


def test_train_with_this_fills_the_form(
    as_user: AsUser, alice: User, team: Team, entry: Dataset, weights: Path, tables: None
) -> None:
    Weights.objects.create(team=team, name="Sample", path=str(weights), model="smollm2-135m")
    entry.options = {"train.dataset.columns.prompt": "question"}
    entry.save()
    found = finished(entry, report().model_dump_json(), {"tokenizer": str(weights), "seq_length": 512})
    client = as_user(alice)
    url = client.get(f"/datasets/{entry.pk}/?report={found.pk}").context["train_url"]
    form = client.get(url).context["sections"]
    filled = {row["field"].path: row["input"].value() for part in form for row in part["rows"]}
    assert filled["train.dataset.path"] == entry.path
    assert filled["train.dataset.columns.prompt"] == "question"
    assert (filled["model"], filled["model_path"], filled["train.seq_length"]) == ("smollm2-135m", str(weights), "512")


def test_the_job_page_names_the_version_and_says_when_it_has_changed(
    as_user: AsUser, alice: User, entry: Dataset, make_job: Callable[..., Job]
) -> None:
    job, client = make_job(alice), as_user(alice)
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    assert f'<a href="/datasets/{entry.pk}/">Greetings</a>, version 1' in page
    assert "the data has changed since" not in page
    Path(entry.path).write_text('[{"instruction": "a", "output": "b"}]')
    assert "the data has changed since" in client.get(f"/jobs/{job.pk}/").content.decode()


def test_a_dataset_is_taken_out_once_that_is_confirmed(as_user: AsUser, alice: User, entry: Dataset) -> None:
    client = as_user(alice)
    assert "Take this dataset out of the list" in client.get(f"/datasets/{entry.pk}/").content.decode()
    client.post(f"/datasets/{entry.pk}/remove/")
    assert Dataset.objects.filter(pk=entry.pk).exists(), "it was not confirmed"
    response = client.post(f"/datasets/{entry.pk}/remove/", {"confirmed": "1"}, follow=True)
    assert "is taken out" in response.content.decode()
    assert Path(entry.path).exists()
    assert not Dataset.objects.exists()
    assert client.get(f"/datasets/{entry.pk}/").status_code == 404


def test_nobody_takes_out_what_belongs_to_another_team(as_user: AsUser, charlie: User, entry: Dataset) -> None:
    response = as_user(charlie).post(f"/datasets/{entry.pk}/remove/", {"confirmed": "1"})
    assert (response.status_code, Dataset.objects.count()) == (404, 1)


def test_a_job_of_a_dataset_that_was_taken_out_still_names_its_version(
    as_user: AsUser, alice: User, entry: Dataset, make_job: Callable[..., Job]
) -> None:
    job = make_job(alice)
    client = as_user(alice)
    client.post(f"/datasets/{entry.pk}/remove/", {"confirmed": "1"})
    assert not Dataset.objects.exists()
    page = client.get(f"/jobs/{job.pk}/").content.decode()
    assert "Greetings, version 1" in page
    assert f'href="/datasets/{entry.pk}/"' not in page
