"""The time of a job before any like it has run: from runs of another length, or from the machine's CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.catalog import CpuSpeed, load
from engine.plan import Plan
from engine.planner import plan
from engine.planner.throughput import flops
from engine.problem_texts import reason
from engine.problems import LANGUAGES
from engine.spec import JobSpec
from tests.engine.asked import native

CATALOG = load()
SHAPE = CATALOG.architectures["smollm2-135m"]
KEY = ("smollm2-135m", "native", "full", 512, "cpu")


def planned(cpus: tuple[CpuSpeed, ...] = (), runs: dict[Any, Any] | None = None, **changes: Any) -> Plan:
    data = native(train__train_iters=10, train__epochs=None, train__global_batch_size=8, **changes)
    return plan(JobSpec.model_validate(data), replace(CATALOG, cpus=cpus, own_runs=runs or {}))


def basis(made: Plan) -> str | None:
    """Of its time; the reason says the same in every language, with all its numbers."""
    if made.eta is None:
        return None
    (why,) = [one for one in made.reasons if one.decision == "eta"]
    assert why.code == f"reason.eta_{made.eta.basis}"
    for language in LANGUAGES:
        assert "?" not in reason(why, language)
    assert 0 < made.eta.seconds_low < made.eta.seconds_high
    return made.eta.basis


def test_a_measured_cpu_gives_a_range_around_its_matrix_products() -> None:
    made = planned((CpuSpeed(2, 100.0),))
    assert basis(made) == "cpu_measured"
    assert made.eta is not None
    at_best = 10 * 8 * 512 * flops(SHAPE, 512) / 100e9
    assert made.eta.seconds_low == pytest.approx(at_best / 2, rel=0.01)
    assert made.eta.seconds_high == pytest.approx(5 * at_best, rel=0.01)


def test_without_a_measurement_the_cores_give_a_wide_one() -> None:
    wide, narrow = planned((CpuSpeed(2, None),)).eta, planned((CpuSpeed(2, 100.0),)).eta
    assert basis(planned((CpuSpeed(2, None),))) == "cpu_cores"
    assert wide is not None
    assert narrow is not None
    assert wide.seconds_low < narrow.seconds_low < narrow.seconds_high < wide.seconds_high


def test_processes_share_the_cores() -> None:
    alone, shared = planned((CpuSpeed(4, 100.0),)).eta, planned((CpuSpeed(4, 100.0),), devices=4).eta
    assert alone is not None
    assert shared is not None
    assert shared.seconds_low == pytest.approx(alone.seconds_low, rel=0.01)


def test_no_machine_no_time() -> None:
    assert basis(planned()) is None


def test_runs_of_another_length_are_scaled_by_their_work_and_given_more_room() -> None:
    same = planned(runs={KEY: (100.0, 110.0)})
    other = planned((CpuSpeed(2, 100.0),), runs={(*KEY[:3], 128, "cpu"): (100.0, 110.0)})
    assert (basis(same), basis(other)) == ("own_runs", "own_runs_scaled")
    assert same.eta is not None
    assert other.eta is not None
    assert other.eta.seconds_high / other.eta.seconds_low > same.eta.seconds_high / same.eta.seconds_low
    middle = 10 * 8 * 512 / 105 * flops(SHAPE, 512) / flops(SHAPE, 128)
    assert other.eta.seconds_low < middle < other.eta.seconds_high
    assert other.eta.seconds_low == pytest.approx(middle / 1.4, rel=0.01)


def test_runs_of_another_strategy_or_hardware_say_nothing() -> None:
    for key in ((*KEY[:2], "lora", 128, "cpu"), (*KEY[:3], 128, "snt9b"), ("llama2-7b", *KEY[1:])):
        assert basis(planned(runs={key: (100.0,)})) is None
