"""What a node measures of itself, and when it does not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from jobs import measuring
from jobs.measuring import VALID_FOR, measure, write_speed
from jobs.models import DeviceLease, Node
from jobs.states import RunState
from tests.jobs.rows import node, run_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def here(data_dir: Path) -> Node:
    Path(settings.RUNS_DIR).mkdir(parents=True, exist_ok=True)
    return node(settings.NODE)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Grows by one with each measurement of matrix products, which are not made."""
    times: list[float] = []

    def known() -> float:
        times.append(100.0 + len(times))
        return times[-1]

    monkeypatch.setattr(measuring, "gflops", known)
    return times


def test_a_disk_is_measured_and_left_as_it_was(tmp_path: Path) -> None:
    speed = write_speed(tmp_path, 2**20)
    assert speed is not None
    assert speed > 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_has_no_speed(tmp_path: Path) -> None:
    assert write_speed(tmp_path / "none", 2**20) is None


def test_figures_are_kept_with_their_time_and_measured_again_when_they_are_old(here: Node, asked: list[float]) -> None:
    measure()
    here.refresh_from_db()
    assert here.write_mb_per_second is not None
    assert here.write_measured is not None
    assert (here.gflops, len(asked)) == (100.0, 1)
    measure()
    assert len(asked) == 1
    old = timezone.now() - VALID_FOR - timedelta(seconds=1)
    Node.objects.update(gflops_measured=old)
    measure()
    here.refresh_from_db()
    assert (here.gflops, len(asked)) == (101.0, 2)


def test_a_busy_node_is_left_alone(here: Node, asked: list[float]) -> None:
    run_in(RunState.RUNNING)
    assert DeviceLease.objects.filter(node=here).exists()
    measure()
    here.refresh_from_db()
    assert (here.write_measured, here.gflops_measured, asked) == (None, None, [])


@pytest.mark.parametrize(
    "values", [{"hardware": "snt9b"}, {"frameworks": {}}, {"frameworks": {"native": "installing"}}]
)
def test_matrix_products_are_measured_where_our_engine_runs_on_a_cpu(
    here: Node, asked: list[float], values: dict[str, object]
) -> None:
    Node.objects.update(**values)
    measure()
    assert asked == []


def test_a_node_that_has_not_reported_measures_nothing(data_dir: Path, asked: list[float]) -> None:
    measure()
    assert asked == []


def test_the_engine_measures_in_a_process_of_its_own() -> None:
    found = measuring.gflops()
    assert found is not None
    assert 0.1 < found < 100_000


def test_an_engine_that_cannot_start_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring.sys, "executable", "/no/such/python")
    assert measuring.gflops() is None
