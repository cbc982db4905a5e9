"""Reports about datasets and views of rows, by the engine's own processes."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from engine.formats.files import DataFile
from jobs.datasets import inspections, rows, versions
from jobs.datasets.cleaning import clean
from jobs.datasets.inspections import NothingThere, TooMany, ask, read_report, record
from jobs.datasets.process import is_alive
from jobs.datasets.rows import Seen, see
from jobs.models import Dataset, Inspection, InspectionState, Team
from jobs.reconciler import reconcile
from jobs.tasks import inspect
from tests.servers import wait_until
from tests.source import ROOT

pytestmark = pytest.mark.usefixtures("redis_server")
LINES = [json.dumps({"instruction": f"Say {number}.", "input": "", "output": str(number)}) for number in range(40)]
BROKEN = ['{"instruction": "no answer"}', "{", '{"instruction": "<script>alert(1)</script>", "output": "ok"}']


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model's folder, made in a process of its own: this one stays without torch."""
    folder = tmp_path_factory.mktemp("tokenizer") / "tiny"
    code = "import sys; from pathlib import Path; from engine.weights import tiny; tiny.make(Path(sys.argv[1]), seed=7)"
    subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, check=True)
    return folder


@pytest.fixture
def model(tokenizer: Path, data_dir: Path) -> Path:
    folder = data_dir / "models" / "tiny"
    folder.mkdir()
    for file in tokenizer.iterdir():
        os.link(file, folder / file.name)
    return folder


@pytest.fixture
def dataset(team: Team, data_dir: Path) -> Dataset:
    file = data_dir / "datasets" / "rows.jsonl"
    file.write_text("\n".join([*LINES, *BROKEN, LINES[0]]) + "\n")
    return Dataset.objects.create(team=team, name="Rows", path=str(file))


def made(found: Inspection) -> Inspection:
    """Begun as the worker does, and waited for."""
    inspect(found.pk)
    wait_until(lambda: record(Inspection.objects.get(pk=found.pk)).ended, 90, "the report")
    return Inspection.objects.select_related("version__dataset").get(pk=found.pk)


def seen(found: Inspection, row: int) -> Seen:
    rows.start(found.pk, row, rows.TOKENS)
    return wait_until(lambda: (view := see(found, row)).ended and view, 60, "the view")  # type: ignore[return-value]


def test_a_report_says_what_becomes_of_every_row(dataset: Dataset, model: Path, alice: User) -> None:
    found = made(ask(dataset, {"tokenizer": str(model), "seq_length": 64}, alice))
    assert (found.state, found.reason) == (InspectionState.DONE, "")
    report = read_report(found)
    assert report is not None
    assert (report.rows.read, report.rows.kept, report.rows.dropped) == (44, 42, 2)
    assert sorted(drop.examples[0].line for drop in report.drops) == [41, 42]
    assert report.duplicates.rows == 1
    listed = [json.loads(line) for line in (found.folder / inspections.DROPS).read_text().splitlines()]
    assert [one["line"] for one in listed] == [41, 42]
    assert report.tokens is not None
    assert found.summary["dropped"] == 2
    assert 64 in [length for length, _cut, _dropped in found.summary["cuts"]]
    dataset.refresh_from_db()
    assert (dataset.format, dataset.rows) == ("alpaca", 44)


def test_other_names_of_columns_are_learnt_with_the_format(dataset: Dataset, alice: User) -> None:
    Path(dataset.path).write_text('{"question": "a", "answer": "b"}\n')
    report = read_report(made(ask(dataset, {}, alice)))
    assert report is not None
    assert report.rows.kept == 1
    dataset.refresh_from_db()
    assert dataset.format == "alpaca"
    names = {"train.dataset.columns.prompt": "question", "train.dataset.columns.response": "answer"}
    assert dataset.options == names


def test_the_same_question_is_answered_once_and_another_anew(dataset: Dataset, alice: User) -> None:
    first = made(ask(dataset, {"format": "alpaca"}, alice))
    assert ask(dataset, {"format": "alpaca", "template": ""}, None).pk == first.pk
    assert ask(dataset, {"format": "alpaca", "seq_length": 128}, alice).pk != first.pk
    file = Path(dataset.path)
    os.utime(file, (1, 1))
    assert ask(dataset, {"format": "alpaca"}, alice).pk == first.pk
    before = file.read_text()
    file.write_text(before + LINES[1] + "\n")
    assert ask(dataset, {"format": "alpaca"}, alice).pk != first.pk
    file.write_text(before)
    assert ask(dataset, {"format": "alpaca"}, alice).pk == first.pk


def test_another_tokenizer_is_another_question(dataset: Dataset, model: Path, alice: User) -> None:
    asked = {"tokenizer": str(model)}
    first = ask(dataset, asked, alice)
    text = (model / "tokenizer_config.json").read_text()
    (model / "tokenizer_config.json").unlink()  # a link: the original stays as it is
    (model / "tokenizer_config.json").write_text(text + " ")
    assert ask(dataset, asked, alice).pk != first.pk


def test_run_again_makes_it_anew(dataset: Dataset, alice: User) -> None:
    first = made(ask(dataset, {}, alice))
    again = ask(dataset, {}, alice, again=True)
    assert (again.pk, again.attempt, again.state) == (first.pk, 2, InspectionState.WAITING)
    assert made(again).state == InspectionState.DONE
    assert not first.folder.exists()


def test_a_tokenizer_that_cannot_be_read_is_said(dataset: Dataset, model: Path, alice: User) -> None:
    (model / "tokenizer.json").unlink()
    (model / "tokenizer.json").write_text("{")
    found = made(ask(dataset, {"tokenizer": str(model)}, alice))
    report = read_report(found)
    told = found.reason or str(report and report.problems)
    assert "tokenizer" in told
    assert not found.summary.get("usable")


def test_data_that_changes_while_it_is_read_makes_no_report(dataset: Dataset, alice: User) -> None:
    found = ask(dataset, {}, alice)
    Path(dataset.path).write_text("\n".join(LINES))
    found = made(found)
    assert (found.state, found.reason) == (InspectionState.FAILED, "changed")


def test_what_is_gone_is_not_asked_about(dataset: Dataset, alice: User) -> None:
    Path(dataset.path).unlink()
    with pytest.raises(NothingThere):
        ask(dataset, {}, alice)


def test_a_report_that_was_lost_is_begun_again(dataset: Dataset, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(inspections, "send_inspect", sent.append)
    found = ask(dataset, {}, alice)
    Inspection.objects.update(state=InspectionState.RUNNING, sent_at=timezone.now())
    reconcile()
    assert sent == []
    Inspection.objects.update(sent_at=timezone.now() - timedelta(minutes=1))
    reconcile()
    assert sent == [found.pk]
    assert made(found).state == InspectionState.DONE


def test_a_killed_process_is_replaced(dataset: Dataset, alice: User) -> None:
    held = inspections.slots("report", inspections.SLOTS)
    found = ask(dataset, {}, alice)
    locks = []
    for path in held:  # nobody gets a turn, so that it can be killed at leisure
        path.parent.mkdir(exist_ok=True)
        file = path.open("w")
        fcntl.flock(file, fcntl.LOCK_EX)
        locks.append(file)
    inspect(found.pk)
    wait_until(lambda: is_alive(found.folder), 20, "the process")
    process = next(one for one in psutil.process_iter(["cmdline"]) if str(found.folder) in (one.info["cmdline"] or []))
    process.kill()
    wait_until(lambda: not is_alive(found.folder), 20, "its end")
    for file in locks:
        file.close()
    assert made(found).state == InspectionState.DONE


def test_a_view_shows_raw_and_rendered_and_what_is_trained(dataset: Dataset, model: Path, alice: User) -> None:
    found = made(ask(dataset, {"tokenizer": str(model), "seq_length": 64}, alice))
    view = seen(found, 3).view
    assert view is not None
    assert json.loads(view.raw) == json.loads(LINES[2])
    assert view.tokens is not None
    trained = "".join(token.text for token in view.tokens if token.trained)
    assert "2" in trained
    assert "Say" not in trained


@pytest.mark.parametrize("row", [41, 42])
def test_a_broken_row_is_shown_with_its_reason(dataset: Dataset, alice: User, row: int) -> None:
    view = seen(made(ask(dataset, {}, alice)), row).view
    assert view is not None
    assert view.reason
    assert view.raw.strip() == BROKEN[row - 41]


def test_there_is_no_row_beyond_the_last(dataset: Dataset, alice: User) -> None:
    answered = seen(made(ask(dataset, {}, alice)), 45)
    assert answered.view is None
    assert answered.problems[0].code == "dataset.no_such_row"


def test_a_view_of_data_that_has_changed_is_refused(dataset: Dataset, alice: User) -> None:
    found = made(ask(dataset, {}, alice))
    Path(dataset.path).write_text("\n".join(LINES))
    assert see(found, 1) == Seen(None, "changed")


def test_reports_without_a_row_are_taken_away_and_others_stay(dataset: Dataset, alice: User) -> None:
    kept, gone = ask(dataset, {}, alice), ask(dataset, {"seq_length": 64}, alice)
    for found in (kept, gone):
        found.folder.mkdir(parents=True)
        (found.folder / "answer.json").write_text("{}")
        for folder in (found.folder, found.folder.parent):
            os.utime(folder, (0, 0))
    folder = gone.folder
    gone.delete()
    clean()
    assert kept.folder.exists()
    assert not folder.parent.exists()


def test_what_another_team_has_registered_meanwhile_is_not_read(dataset: Dataset, alice: User, data_dir: Path) -> None:
    Dataset.objects.filter(pk=dataset.pk).update(path=str(data_dir / "datasets"))
    dataset.refresh_from_db()
    found = ask(dataset, {}, alice)
    other = Team.objects.create(name="beta")
    Dataset.objects.create(team=other, name="theirs", path=str(data_dir / "datasets" / "rows.jsonl"))
    found = made(found)
    assert found.state == InspectionState.FAILED
    assert "dataset.other_team" in found.reason
    assert not (found.folder / "errors.log").exists()
    assert seen(found, 1).problems[0].code == "dataset.other_team"


def test_nobody_waits_for_very_many_reports(dataset: Dataset, alice: User) -> None:
    for length in range(8, 8 + inspections.MOST_UNFINISHED):
        ask(dataset, {"seq_length": length}, alice)
    with pytest.raises(TooMany):
        ask(dataset, {"seq_length": 999}, alice)
    assert ask(dataset, {"seq_length": 8}, alice).state == InspectionState.WAITING
    Inspection.objects.filter(asked__seq_length__gt=8).update(state=InspectionState.RUNNING)
    waiting = Inspection.objects.get(asked__seq_length=8)
    inspect(waiting.pk)
    waiting.refresh_from_db()
    assert waiting.state == InspectionState.WAITING


def test_the_engines_process_has_no_secrets(dataset: Dataset, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs.datasets import process

    monkeypatch.setenv("TRAINYARD_SECRET_KEY", "hidden")
    kept = process._environment(os.environ)
    assert not {"TRAINYARD_SECRET_KEY", "DATABASE_URL", "REDIS_URL"} & set(kept)


def test_large_data_that_was_only_touched_keeps_its_version_and_runs(
    dataset: Dataset, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "READ_AT_ONCE", 10)
    first = made(ask(dataset, {}, alice)).version
    assert first.digest == versions.digest_of([DataFile(Path(dataset.path), "rows.jsonl")])
    os.utime(dataset.path, (1, 1))
    noticed = versions.current_version(dataset)
    assert noticed is not None
    assert (noticed.number, noticed.digest) == (2, ""), "nobody has read it yet"
    again = made(ask(dataset, {}, alice))
    assert again.version == first
    assert [version.number for version in dataset.versions.all()] == [1]
    assert versions.current_version(dataset) == first
    assert ask(dataset, {}, alice) == again, "what has been read is not read again"
    assert Inspection.objects.count() == 1


def test_large_data_that_has_changed_is_a_new_version(
    dataset: Dataset, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "READ_AT_ONCE", 10)
    first = made(ask(dataset, {}, alice)).version
    Path(dataset.path).write_text(LINES[0])
    second = made(ask(dataset, {}, alice)).version
    assert (first.number, second.number) == (1, 2)
    assert first.digest != second.digest != ""


def test_a_report_follows_what_is_done_with_broken_rows(dataset: Dataset, alice: User) -> None:
    refused = made(ask(dataset, {}, alice))
    left_out = made(ask(dataset, {"broken_rows": "leave_out"}, alice))
    assert (refused.summary["usable"], left_out.summary["usable"]) == (False, True)
