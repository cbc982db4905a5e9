"""The layout that our own engine gets: whole models side by side, unless the person or the memory asks for more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine import problem_texts
from engine.catalog import Catalog, load
from engine.plan import Layout, Plan
from engine.planner import Unplannable, check, plan
from engine.planner.memory import Setting, estimate
from engine.problems import LANGUAGES
from engine.spec import JobSpec
from tests.engine.asked import native

CATALOG = load()
SHAPE = CATALOG.architectures["llama3.2-1b"]


def made(catalog: Catalog = CATALOG, **changes: Any) -> Plan:
    return plan(JobSpec.model_validate(native(**changes)), catalog)


def with_memory(gib: float) -> Catalog:
    """A machine that says how much each process may use."""
    return replace(CATALOG, hardware=CATALOG.hardware | {"cpu": replace(CATALOG.hardware["cpu"], memory_gib=gib)})


def sizes(layout: Layout) -> tuple[int, int, int, int]:
    """Tensor, pipeline, data, ZeRO."""
    parallel = (layout.tensor_parallel_size, layout.pipeline_parallel_size, layout.data_parallel_size)
    return (*parallel, layout.zero_stage)


def reasons(of: Plan) -> dict[str, str]:
    return {reason.decision: reason.code for reason in of.reasons}


def test_processes_are_replicas_unless_more_is_asked_for() -> None:
    several = made(devices=4)
    assert sizes(several.layout) == (1, 1, 4, 0)
    assert reasons(several)["layout.data_parallel_size"] == "reason.data_parallel"


@pytest.mark.parametrize(
    ("devices", "wish", "expected"),
    [
        (6, {"tensor_parallel_size": 3}, (3, 1, 2, 0)),
        (4, {"pipeline_parallel_size": 2}, (1, 2, 2, 0)),
        (12, {"tensor_parallel_size": 3, "pipeline_parallel_size": 2, "zero_stage": 2}, (3, 2, 2, 2)),
        (4, {"zero_stage": 3}, (1, 1, 4, 3)),
        (3, {"tensor_parallel_size": 3, "zero_stage": 3}, (3, 1, 1, 0)),
    ],
)
def test_what_is_asked_for_is_done_and_said(
    devices: int, wish: dict[str, int], expected: tuple[int, int, int, int]
) -> None:
    found = made(devices=devices, train__layout=wish, train__global_batch_size=96)
    assert sizes(found.layout) == expected
    for name in wish:
        if name != "zero_stage" or expected[3]:
            assert reasons(found)[f"layout.{name}"] == "reason.asked"
    batch = found.batch
    assert batch.micro_batch_size * expected[2] * batch.gradient_accumulation_steps == 96
    assert batch.gradient_accumulation_steps >= expected[1], "every stage of a pipeline has something to do"
    (command,) = found.stages[1].commands
    assert command.argv[command.argv.index("--nproc-per-node") + 1] == str(devices)


def test_a_model_without_dimensions_gets_what_is_asked_for() -> None:
    found = made(model="tiny-llama", devices=4, train__layout={"tensor_parallel_size": 2, "zero_stage": 1})
    assert sizes(found.layout) == (2, 1, 2, 1)
    assert reasons(found)["layout"] == "reason.layout_blind"


def test_where_memory_is_short_the_model_is_cut_as_little_as_helps() -> None:
    asked = {"devices": 4, "train__micro_batch_size": 2}
    alone = [made(**asked, train__layout__zero_stage=stage).memory for stage in range(4)]
    needs = [memory.per_device_gib for memory in alone if memory is not None]
    assert needs[0] > needs[2] > needs[3]
    found = made(with_memory(needs[3] + 0.01), **asked)
    assert sizes(found.layout) == (1, 1, 4, 3)
    assert reasons(found)["layout.zero_stage"] == "reason.cut_to_fit"
    assert sizes(made(with_memory(needs[0] + 0.01), **asked).layout) == (1, 1, 4, 0)
    with pytest.raises(Unplannable):
        made(with_memory(0.6), **asked)


def test_a_smaller_micro_batch_comes_before_a_model_in_parts() -> None:
    usual = made(devices=2)
    assert usual.memory is not None
    tight = made(with_memory(usual.memory.per_device_gib - 0.1), devices=2)
    assert sizes(tight.layout) == (1, 1, 2, 0)
    assert tight.batch.micro_batch_size < usual.batch.micro_batch_size
    assert reasons(tight)["batch.micro_batch_size"] == "reason.micro_batch_fits"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_is_told_whole(language: str) -> None:
    wish = {"tensor_parallel_size": 3, "zero_stage": 1}
    for found in (made(devices=6, train__layout=wish), made(with_memory(2.5), devices=8)):
        for reason in found.reasons:
            text = problem_texts.reason(reason, language)
            assert text != reason.code
            assert "?" not in text


def setting(**changes: Any) -> Setting:
    usual: dict[str, Any] = {
        "framework": "native", "shape": SHAPE, "seq_length": 1024, "micro_batch_size": 1, "lora_rank": None,
        "memory_gib": None, "on_cpu": True,
    }  # fmt: skip
    return Setting(**{**usual, **changes})


@pytest.mark.parametrize("rank", [None, 8])
def test_more_processes_to_share_with_never_need_more_memory_each(rank: int | None) -> None:
    asked = setting(lora_rank=rank)
    for tensor in (1, 2, 4, 8):
        for stage in range(4):
            found = [need(asked, tensor=tensor, replicas=replicas, zero=stage) for replicas in (2, 4, 8)]
            assert found == sorted(found, reverse=True)
        found = [need(asked, tensor=tensor, replicas=4, zero=stage) for stage in range(4)]
        assert found == sorted(found, reverse=True)
    cut = [need(asked, tensor=tensor) for tensor in (1, 2, 4, 8)]
    assert cut == sorted(cut, reverse=True)
    assert cut[0] > cut[-1]


def test_a_pipeline_shares_out_the_weights() -> None:
    short = setting(seq_length=64)
    found = [need(short, pipeline=pipeline) for pipeline in (1, 2, 4)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 1.5 * found[1]


def need(asked: Setting, *, tensor: int = 1, pipeline: int = 1, replicas: int = 1, zero: int = 0) -> float:
    layout = Layout(
        devices=tensor * pipeline * replicas,
        tensor_parallel_size=tensor,
        pipeline_parallel_size=pipeline,
        data_parallel_size=replicas,
        zero_stage=zero,
    )
    return estimate(asked, layout).breakdown.total


def test_a_pipeline_that_is_uneven_is_nothing_to_warn_of() -> None:
    verdict = check(native(devices=4, train__layout__pipeline_parallel_size=4), CATALOG)
    assert verdict.fits
    assert not [problem for problem in verdict.problems if problem.field.startswith("train.layout")]
