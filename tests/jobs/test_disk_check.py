"""The checkpoints of a run against the free disk of the runs folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.utils import timezone

from engine.planner.memory.parameters import count
from engine.problems import Problem
from jobs.catalog import current
from jobs.models import Node
from jobs.submit import preview
from tests.jobs.rows import node

pytestmark = pytest.mark.django_db


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets how many bytes are free."""

    def set_free(free: float) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**15, 0, int(free)))

    return set_free


def said(spec: dict[str, Any]) -> Problem | None:
    return next((problem for problem in preview(spec)[0].problems if problem.code.startswith("disk.")), None)


def one_checkpoint() -> int:
    """fp32 weights and two moments of smollm2-135m."""
    return 12 * count(current().architectures["smollm2-135m"]).total


def test_what_cannot_fit_is_an_error_and_what_hardly_fits_a_warning(
    spec: dict[str, Any], disk: Callable[[float], None]
) -> None:
    node()
    three = 3 * one_checkpoint()  # two are kept, and the next one is written beside them
    for free, code, severity in ((three - 1, "disk.too_small", "error"), (three, "disk.little_room", "warning")):
        disk(free)
        problem = said(spec)
        assert problem is not None
        assert (problem.code, problem.severity, problem.field) == (code, severity, "train.save_interval")
        assert problem.parameters["count"] == 3
    disk(1.21 * three)
    assert said(spec) is None


def test_a_job_that_saves_once_needs_room_for_one(spec: dict[str, Any], disk: Callable[[float], None]) -> None:
    node()
    disk(1.21 * one_checkpoint())
    assert said(spec) is not None
    spec["train"] |= {"train_iters": 100, "save_interval": 100}
    assert said(spec) is None


def test_adapters_are_small(spec: dict[str, Any], disk: Callable[[float], None]) -> None:
    node()
    disk(one_checkpoint())
    spec["train"]["strategy"] = "lora"
    assert said(spec) is None


@pytest.mark.parametrize(("framework", "bytes_each"), [("mindspeed-llm", 14 + 2 * 2), ("llama-factory", 14 + 2)])
def test_every_framework_is_compared_with_the_disk(
    spec: dict[str, Any], disk: Callable[[float], None], framework: str, bytes_each: int
) -> None:
    """bf16 weights and three fp32 states, and the weights in the forms that the run writes beside them."""
    node(hardware="snt9b", devices=8, frameworks={framework: "1"})
    spec |= {"framework": framework, "hardware": "snt9b", "model": "llama3.1-8b", "devices": 8}
    spec["train"] |= {"seq_length": 4096, "train_iters": 100, "save_interval": 100}
    needed = bytes_each * count(current().architectures["llama3.1-8b"]).total
    for free, code in ((needed - 1, "disk.too_small"), (needed, "disk.little_room"), (1.21 * needed, None)):
        disk(free)
        problem = said(spec)
        assert (None if problem is None else problem.code) == code
    spec["train"] |= {"train_iters": 1000}
    problem = said(spec)
    assert problem is not None
    assert problem.parameters["count"] == 10


def test_a_disk_that_is_written_too_slowly_is_a_warning_with_the_time(
    spec: dict[str, Any], disk: Callable[[float], None]
) -> None:
    disk(1e15)
    one = node(hardware="snt9b", devices=8, frameworks={"mindspeed-llm": "1"}, write_measured=timezone.now())
    spec |= {"framework": "mindspeed-llm", "hardware": "snt9b", "model": "llama3.1-8b", "devices": 8}
    spec["train"]["seq_length"] = 4096
    assert said(spec) is None  # not measured
    size = 14 * count(current().architectures["llama3.1-8b"]).total
    within = size / (36 * 60) / 1e6
    for speed, found in ((within * 1.01, False), (within / 2, True)):
        Node.objects.filter(pk=one.pk).update(write_mb_per_second=speed)
        problem = said(spec)
        assert (problem is not None) == found
    assert problem is not None
    assert (problem.code, problem.severity, problem.parameters["minutes"]) == ("disk.too_slow", "warning", 72)
    spec["devices"] = 16  # two machines write half of it each
    problem = said(spec)
    assert problem is None or problem.code != "disk.too_slow"


def test_a_process_that_nobody_waits_for_may_write_slowly(spec: dict[str, Any]) -> None:
    node(write_mb_per_second=0.001, write_measured=timezone.now())
    assert said(spec) is None


def test_a_wrong_field_and_a_missing_folder_are_no_reason_to_fail(
    spec: dict[str, Any], disk: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk(0)
    spec["train"]["save_interval"] = "often"
    assert said(spec) is None
    spec["train"]["save_interval"] = 100

    def gone(folder: object) -> Usage:
        raise FileNotFoundError

    monkeypatch.setattr(shutil, "disk_usage", gone)
    assert said(spec) is None
