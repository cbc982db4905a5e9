"""Damaged datasets get a clear report each: never a traceback, never a wrong sample, never a row lost unsaid."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from engine.dataset_report import DatasetReport, RowView
from engine.inspection.__main__ import answer
from engine.inspection.request import Request
from engine.problems import LANGUAGES
from engine.readable.dataset import report_text, row_view_text
from engine.spec import BrokenRows
from tests.engine.damaged import CASES, GOOD, Damage

ROOT = Path(__file__).parents[2]
BIG = (
    "a row of fifty megabytes",
    "a hundred megabytes of zeros in a small Parquet file",
    "fifty million rows in a few kilobytes",
)
MOST_MEMORY = 400 << 10
"""kB; the process with an empty dataset takes about 60 MB, with pyarrow 110."""
MOST_SECONDS = 20
"""Of processor time."""


def inspected(damage: Damage, folder: Path, broken_rows: BrokenRows) -> tuple[DatasetReport, Request, int]:
    path = damage.make(folder)
    request = Request(
        input=str(path),
        roots=(folder / "data",) if damage.rooted else None,
        cache=folder.parent / "cache",
        drops=folder.parent / "drops.jsonl",
        broken_rows=broken_rows,
    )
    report, code = answer(request)
    assert isinstance(report, DatasetReport)
    return report, request, code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dataset").mkdir()
    return tmp_path / "dataset"


@pytest.mark.parametrize("broken_rows", get_args(BrokenRows))
@pytest.mark.parametrize("name", [name for name in CASES if name not in BIG])
def test_a_damaged_dataset_gets_a_clear_report(name: str, broken_rows: BrokenRows, folder: Path) -> None:
    damage = CASES[name]
    report, request, code = inspected(damage, folder, broken_rows)
    rows = report.rows
    assert rows.read == rows.kept + rows.dropped
    assert rows.broken == rows.dropped, "without a tokenizer there is nothing else"
    usable = damage.usable and not rows.broken
    if broken_rows == "leave_out":  # then a file that breaks off is used as far as it goes, which is said
        usable = damage.usable or (damage.kept > 0 and damage.problems == ("dataset.broken_off",))
    assert (rows.kept, report.usable, code) == (damage.kept, usable, 0 if usable else 2)
    if damage.reasons:
        assert {drop.reason for drop in report.drops} == set(damage.reasons)
        assert rows.dropped == damage.dropped
    expected = {*damage.problems}
    if broken_rows == "refuse" and "dataset.rows_dropped" in expected:
        expected = expected - {"dataset.rows_dropped"} | {"dataset.broken_rows_in"}
    assert expected <= {problem.code for problem in report.problems}
    assert report.usable or report.problems, "a refusal says why"
    assert_all_are_listed(report, request)
    assert_it_can_be_said(report)
    assert_rows_can_be_seen(report, request)


def assert_all_are_listed(report: DatasetReport, request: Request) -> None:
    assert request.drops is not None
    listed = request.drops.read_text(encoding="utf-8").splitlines() if report.files else []
    assert len(listed) == report.rows.dropped
    assert sum(file.rows.read for file in report.files) == report.rows.read
    assert sum(drop.rows for drop in report.drops) == report.rows.dropped


def assert_it_can_be_said(report: DatasetReport) -> None:
    json.loads(report.model_dump_json())
    for language in LANGUAGES:
        text = report_text(report, language)
        assert "Traceback" not in text
        assert "\x1b" not in text
        for problem in report.problems:
            assert f"{problem.code}\n" not in f"{text}\n", "a code without a text"
        for drop in report.drops:
            assert f": {drop.reason}\n" not in f"{text}\n", "a code without a text"


def assert_rows_can_be_seen(report: DatasetReport, request: Request) -> None:
    """Every row, the broken ones too: raw, and with the same reason as in the report."""
    assert request.drops is not None
    listed = request.drops.read_text(encoding="utf-8").splitlines() if report.files else []
    reasons = {drop["row"]: drop["reason"] for drop in map(json.loads, listed)}
    for row in range(1, report.rows.read + 1)[:20]:
        view, _ = answer(request.model_copy(update={"row": row}))
        assert isinstance(view, RowView)
        assert view.reason == reasons.get(row, "")
        assert view.raw or view.raw_size == 0
        assert row_view_text(view, "zh-hans")


@pytest.mark.parametrize("name", BIG)
def test_what_is_huge_takes_little_memory_and_time(name: str, folder: Path) -> None:
    damage = CASES[name]
    request = Request(input=str(damage.make(folder)), cache=folder.parent / "cache", broken_rows="leave_out")
    code = (
        "import resource, runpy, sys\n"
        "try:\n    runpy.run_module('engine.inspection', run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "    print(end.code, peak, used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=request.model_dump_json(),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    report = DatasetReport.model_validate_json(done.stdout)
    ended, memory, seconds = done.stderr.split()
    assert (report.rows.kept, report.rows.dropped) == (damage.kept, damage.dropped)
    assert {drop.reason for drop in report.drops} == set(damage.reasons)
    assert int(ended) == (0 if damage.usable else 2)
    assert int(memory) < MOST_MEMORY
    assert float(seconds) < MOST_SECONDS


def test_a_file_that_cannot_be_read_is_said_and_the_others_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.jsonl").write_text(json.dumps(GOOD))
    (folder / "b.jsonl").write_text(json.dumps(GOOD))
    real = Path.open

    def refusing(path: Path, *arguments: object, **options: object) -> object:
        if path.name == "a.jsonl":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refusing)
    report, code = answer(Request(input=str(folder)))
    assert isinstance(report, DatasetReport)
    assert [(problem.code, problem.parameters["path"]) for problem in report.problems] == [
        ("dataset.unreadable", "a.jsonl")
    ]
    assert (report.rows.kept, code) == (1, 2)


def test_a_file_that_changes_while_it_is_read_is_not_believed(folder: Path) -> None:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps({**GOOD, "n": number}) for number in range(3000)))
    from engine.inspection.inspecting import inspect

    def append(rows: int, read: int, size: int) -> None:
        with path.open("a") as file:
            file.write("\n" + json.dumps(GOOD))

    report = inspect(Request(input=str(path)), append)
    assert "dataset.changed" in {problem.code for problem in report.problems}
    assert not report.usable


def test_the_command_line_says_it_without_a_traceback(folder: Path) -> None:
    (folder / "rows.json").write_text(f"[{json.dumps(GOOD)}, {{")
    done = subprocess.run(
        [sys.executable, "-m", "engine", "inspect", "--input", str(folder), "--language", "en"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "rows.json cannot be read beyond line 1" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["GBK", "UTF-16"])
def test_of_a_file_that_breaks_off_at_once_no_format_is_asked_for(name: str, folder: Path) -> None:
    report, _, _ = inspected(CASES[name], folder, "refuse")
    assert [problem.code for problem in report.problems] == ["dataset.broken_off", "dataset.nothing_kept"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_format_that_is_not_known_comes_with_its_reason(language: str, folder: Path) -> None:
    report, _, _ = inspected(CASES["an object of rows"], folder, "refuse")
    assert "?" not in report_text(report, language)
