"""What the panel beside the form is told, beyond whether a job would be queued."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.planner.nearest import changed
from engine.spec import JobSpec
from jobs import what_fits
from jobs.catalog import current
from jobs.models import MinDevices
from jobs.outlook import outlook
from jobs.submit import preview
from tests.jobs.rows import node

pytestmark = pytest.mark.django_db


def far(spec: dict[str, Any]) -> dict[str, Any]:
    """llama3.1-8b with MindSpeed-LLM, which no node has."""
    train = {**spec["train"], "seq_length": 4096, "epochs": 2}
    return {
        **spec,
        "model": "llama3.1-8b",
        "framework": "mindspeed-llm",
        "hardware": "snt9b",
        "devices": 8,
        "train": train,
    }


def test_a_job_that_can_start_has_the_very_plan_that_will_be_stored(spec: dict[str, Any]) -> None:
    node()
    assert outlook(spec).plan == preview(spec)[1]


def test_a_framework_that_no_node_has_is_planned_with_its_commands_but_not_queued(spec: dict[str, Any]) -> None:
    node()
    asked = {**far(spec), "framework": "llama-factory"}
    found = outlook(asked)
    assert found.plan is not None
    assert [stage.name for stage in found.plan.stages] == ["preprocess", "train", "export"]
    about = {problem.code: problem.severity for problem in found.verdict.problems}
    assert (about["framework.nowhere"], about["hardware.not_here"]) == ("warning", "warning")
    verdict, plan = preview(asked)
    assert plan is None
    assert "error" in {problem.severity for problem in verdict.problems if problem.code == "framework.nowhere"}


def test_a_plan_needs_no_files_yet(spec: dict[str, Any]) -> None:
    node()
    for part in ("name", "model_path"):
        del spec[part]
    del spec["train"]["dataset"]
    found = outlook(spec)
    assert found.verdict.spec is None
    assert found.plan is not None
    assert outlook({**spec, "devices": "many"}).plan is None


def test_the_time_follows_from_the_rows_that_the_check_has_counted(spec: dict[str, Any], data_dir: Path) -> None:
    node()
    rows = [{"instruction": str(number), "input": "", "output": "x"} for number in range(1000)]
    (data_dir / "datasets" / "three.json").write_text(json.dumps(rows))
    found = outlook(far(spec))
    assert found.plan is not None
    assert found.plan.eta is None
    assert found.timing is not None
    assert (found.timing.rows, found.timing.iterations) == (1000, -(-2000 // found.plan.batch.global_batch_size))
    assert found.timing.eta.seconds_low < found.timing.eta.seconds_high


def test_nothing_is_timed_that_cannot_be_planned(spec: dict[str, Any]) -> None:
    node()
    found = outlook({**far(spec), "devices": 2})
    assert (found.plan, found.timing) == (None, None)


def test_what_fits_is_kept_until_a_table_changes(spec: dict[str, Any]) -> None:
    first = what_fits.grid(current(), "llama3.1-8b")
    assert what_fits.grid(current(), "llama3.1-8b") is first
    row = MinDevices.objects.get(
        model="llama3.1-8b", strategy="full", seq_length=4096, framework="mindspeed-llm", hardware="snt9b"
    )
    row.devices = 16
    row.save()
    cells = [cell for line in what_fits.grid(current(), "llama3.1-8b").lines for cell in line.cells]
    assert [cell.need.table for cell in cells if cell.need.table == 16] == [16]
    assert not plan_fits(spec)


def plan_fits(spec: dict[str, Any]) -> bool:
    """Does the check follow the same row?"""
    asked = changed(JobSpec.model_validate(spec), {"train.seq_length": 4096, "devices": 8})
    data = {**asked.model_dump(mode="json"), "model": "llama3.1-8b", "framework": "mindspeed-llm", "hardware": "snt9b"}
    return all(problem.code != "devices.too_few" for problem in preview(data)[0].problems)
