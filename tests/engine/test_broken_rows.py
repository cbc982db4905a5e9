"""Broken rows are refused or left out, by one rule, and what is left out is never lost unsaid."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine import formats
from engine.events import Emitter
from engine.failures import Failure
from engine.formats import Sample, broken_rows
from engine.formats.files import regular
from engine.frameworks.mindspeed_llm.steps import rows as mindspeed_rows
from engine.planner.files import dataset as dataset_check
from engine.preparation import Preparation
from engine.problem_texts import message, remedy
from engine.problems import LANGUAGES, Problem
from engine.spec import DatasetChoice
from tests.engine import native
from tests.engine.mindspeed.test_steps import stage_file

GOOD = json.dumps({"instruction": "a", "output": "b"})
BROKEN = json.dumps({"instruction": "c"})


def choice(path: Path, **more: Any) -> dict[str, Any]:
    return {"path": str(path), "format": "alpaca", "broken_rows": "leave_out", **more}


def checked(path: Path, **more: Any) -> dict[str, Problem]:
    asked = DatasetChoice.model_validate(choice(path, **more))
    return {problem.code: problem for problem in dataset_check.problems(str(path), asked, None)}


def assert_said(problem: Problem, *words: str) -> None:
    for language in LANGUAGES:
        text = message(problem, language) + remedy(problem, language)
        assert "?" not in text
        assert all(word in text for word in words)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join([GOOD, BROKEN, GOOD, "{", GOOD]))
    return path


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """An array of which the end is missing."""
    path = tmp_path / "cut.json"
    path.write_text(f"[{GOOD},\n{GOOD},\n{GOOD[:-4]}")
    return path


def test_the_check_refuses_or_warns_as_chosen(lines: Path) -> None:
    refused = checked(lines, broken_rows="refuse")
    assert {code: one.severity for code, one in refused.items()} == {"dataset.broken_rows": "error"}
    assert refused["dataset.broken_rows"].nearest == {"train.dataset.broken_rows": "leave_out"}
    told = checked(lines)
    assert {code: one.severity for code, one in told.items()} == {"dataset.rows_left_out": "warning"}
    parameters = told["dataset.rows_left_out"].parameters
    assert (parameters["count"], parameters["rows"], parameters["lines"]) == (2, 5, "2, 4")
    assert_said(told["dataset.rows_left_out"], "2, 4", "output")


def test_the_check_says_that_the_rest_of_a_file_is_lost(cut: Path) -> None:
    told = checked(cut)["dataset.ends_left_out"]
    assert (told.severity, told.parameters["line"]) == ("warning", 3)
    assert_said(told, "3")


def test_no_usable_row_is_an_error_whatever_is_chosen(tmp_path: Path, tiny_model: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{BROKEN}\n{BROKEN}")
    told = checked(path)["dataset.none_usable"]
    assert told.severity == "error"
    assert_said(told, "2", "output")
    with pytest.raises(Failure) as failure:
        native.preprocess(tmp_path / "run", tiny_model, dataset=choice(path))
    assert failure.value.problem.code == "preprocess.no_samples"
    assert "2 row.missing_key" in str(failure.value.problem.parameters["report"])


def test_preprocessing_leaves_them_out_with_file_line_and_reason(lines: Path, tmp_path: Path, tiny_model: Path) -> None:
    file = native.preprocess(tmp_path / "run", tiny_model, dataset=choice(lines))
    report = Preparation.model_validate_json((file.folder.data / "report.json").read_text())
    assert (report.rows_read, report.rows_kept, report.broken_rows) == (5, 3, "leave_out")
    places = {one.reason: [(spot.file, spot.line) for spot in one.examples] for one in report.rows_dropped}
    assert places == {"row.missing_key": [("rows.jsonl", 2)], "json.syntax": [("rows.jsonl", 4)]}
    assert len(native.store(file)) == 3
    [told] = [Problem.model_validate(one["problem"]) for one in native.emitted(file, "problem")]
    assert (told.code, told.parameters["lines"]) == ("preprocess.rows_left_out", "rows.jsonl:2, rows.jsonl:4")
    assert_said(told, "rows.jsonl:2")


def test_a_file_that_breaks_off_is_used_as_far_as_it_goes_and_that_is_said(
    cut: Path, tmp_path: Path, tiny_model: Path
) -> None:
    file = native.preprocess(tmp_path / "run", tiny_model, dataset=choice(cut))
    report = Preparation.model_validate_json((file.folder.data / "report.json").read_text())
    assert (report.rows_read, report.rows_kept, report.files_broken_off) == (3, 2, 1)
    assert [(spot.file, spot.line) for spot in report.broken_off] == [("cut.json", 3)]
    told = {one["problem"]["code"]: Problem.model_validate(one["problem"]) for one in native.emitted(file, "problem")}
    assert set(told) == {"preprocess.rows_left_out", "preprocess.broken_off"}
    assert_said(told["preprocess.broken_off"], "cut.json", "3")


def test_refusing_stops_at_the_first(lines: Path, tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(Failure) as failure:
        native.preprocess(tmp_path / "run", tiny_model, dataset=choice(lines, broken_rows="refuse"))
    assert (failure.value.problem.code, failure.value.problem.parameters["line"]) == ("preprocess.broken_row", 2)


def test_a_file_for_which_a_library_is_missing_is_never_left_out(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    asked = DatasetChoice.model_validate(choice(tmp_path))
    with pytest.raises(Failure) as failure:
        list(broken_rows.rows(asked, formats.find(tmp_path)))
    assert failure.value.problem.parameters["why"] == "file.parquet"


def test_the_usable_rows_come_alone_and_the_others_are_told(lines: Path) -> None:
    told: list[int] = []
    asked = DatasetChoice.model_validate(choice(lines))
    found = list(broken_rows.usable(asked, formats.find(lines), lambda row: told.append(row.line)))
    assert all(isinstance(item, Sample) for item in found)
    assert ([item.line for item in found], told) == ([1, 3, 5], [2, 4])


def test_the_rows_for_mindspeed_follow_the_same_rule(lines: Path, tmp_path: Path) -> None:
    made = stage_file(tmp_path, train__dataset__path=str(lines), train__dataset__broken_rows="leave_out",
                      train__dataset__format="alpaca")  # fmt: skip
    mindspeed_rows.main(made, Emitter(tmp_path / "emitted.jsonl"))
    assert len((made.folder.data / "rows.jsonl").read_text().splitlines()) == 3
    report = Preparation.model_validate_json((made.folder.data / mindspeed_rows.REPORT).read_text())
    assert (report.rows_read, report.rows_kept) == (5, 3)
    assert '"preprocess.rows_left_out"' in (tmp_path / "emitted.jsonl").read_text()


def test_a_pipe_in_a_folder_is_named_and_waited_for_by_nobody(tmp_path: Path, tiny_model: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.jsonl").write_text(GOOD)
    os.mkfifo(folder / "b.jsonl")
    assert checked(folder)["dataset.not_a_file"].parameters["path"] == "b.jsonl"
    with pytest.raises(Failure) as failure:
        native.preprocess(tmp_path / "run", tiny_model, dataset=choice(folder))
    assert failure.value.problem.code == "dataset.not_a_file"
    with pytest.raises(Failure):
        regular(formats.find(folder))
