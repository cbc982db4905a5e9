"""Plans: pure, the same byte for byte, and with a reason for each decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.catalog import load
from engine.frameworks import FOLDERS, description
from engine.frameworks.native.flags import READ_BY
from engine.frameworks.native.output import metric
from engine.plan import Plan
from engine.planner import Unplannable, plan
from engine.spec import JobSpec, canonical_json
from tests.engine.asked import native

CATALOG = load()
GOLDEN = Path(__file__).parents[1] / "golden"


def made(data: dict[str, Any]) -> Plan:
    return plan(JobSpec.model_validate(data), CATALOG)


CASES = {
    "plan_native_full": native(),
    "plan_native_lora_two_processes": native(
        devices=2,
        train__strategy="lora",
        train__global_batch_size=None,
        train__epochs=None,
        train__sample_prompts=["Who are you?"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_the_same_byte_for_byte(name: str) -> None:
    text = canonical_json(made(CASES[name]))
    assert text == (GOLDEN / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_the_way_of_a_spec_does_not_change_its_plan(name: str) -> None:
    spec = JobSpec.model_validate(CASES[name])
    ways = [
        spec,
        JobSpec.model_validate(spec.model_dump()),
        JobSpec.model_validate_json(canonical_json(spec)),
        JobSpec.model_validate(dict(reversed(CASES[name].items()))),
        JobSpec.model_validate(spec.model_dump(exclude_none=True)),
    ]
    assert len({canonical_json(plan(way, load.__wrapped__())) for way in ways}) == 1


@pytest.mark.parametrize("devices", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("seq_length", [8, 512, 4096, 8192])
@pytest.mark.parametrize(("micro", "rounds"), [(None, None), (None, 1), (None, 12), (3, None), (2, 5)])
def test_batch_sizes_always_multiply_up(devices: int, seq_length: int, micro: int | None, rounds: int | None) -> None:
    total = None if rounds is None else devices * (micro or 1) * rounds
    data = native(
        devices=devices,
        train__seq_length=seq_length,
        train__micro_batch_size=micro,
        train__global_batch_size=total,
    )
    batch = made(data).batch
    assert batch.micro_batch_size * devices * batch.gradient_accumulation_steps == batch.global_batch_size
    assert micro in (None, batch.micro_batch_size)
    assert total in (None, batch.global_batch_size)
    assert batch.micro_batch_size * seq_length <= 4096 or batch.micro_batch_size in (1, micro)


def test_train_iters_win_over_epochs() -> None:
    both = made(native(train__train_iters=7, train__epochs=2))
    assert (both.batch.train_iters, both.batch.epochs) == (7, None)
    assert "reason.train_iters_win" in {reason.code for reason in both.reasons}


def test_without_a_length_every_sample_is_seen_once() -> None:
    neither = made(native(train__epochs=None))
    assert (neither.batch.train_iters, neither.batch.epochs) == (None, 1.0)


def test_one_process_needs_no_launcher_and_several_do() -> None:
    (alone,) = made(native()).stages[1].commands
    (several,) = made(native(devices=4)).stages[1].commands
    assert alone.argv == ("{python}", "-m", "engine.training", "{run_dir}/stages/train/stage.json")
    assert several.argv[several.argv.index("--nproc-per-node") + 1] == "4"
    assert (alone.processes_per_node, several.processes_per_node) == (1, 4)


def test_outputs_follow_what_was_asked_for() -> None:
    full = {stage.name: stage.outputs for stage in made(native()).stages}
    lora = {stage.name: stage.outputs for stage in made(CASES["plan_native_lora_two_processes"]).stages}
    assert list(full) == ["preprocess", "train", "export"]
    assert "output/samples.json" in lora["train"]
    assert "output/samples.json" not in full["train"]
    assert set(lora["export"]) - set(full["export"]) == {
        "output/adapter/adapter_config.json",
        "output/adapter/adapter_model.safetensors",
    }


def test_a_request_with_errors_has_no_plan() -> None:
    with pytest.raises(Unplannable) as caught:
        made(native(train__seq_length=9000))
    assert [problem.code for problem in caught.value.problems if problem.severity == "error"] == ["seq_length.too_long"]


def leaves(value: dict[str, Any], path: str = "") -> set[str]:
    found: set[str] = set()
    for key, part in value.items():
        here = f"{path}.{key}" if path else key
        found |= leaves(part, here) if isinstance(part, dict) else {here}
    return found


def test_native_says_how_it_reads_every_field() -> None:
    assert set(READ_BY) == leaves(JobSpec.model_validate(native()).model_dump())


def test_every_framework_of_a_spec_is_described() -> None:
    choices = JobSpec.model_json_schema()["properties"]["framework"]["enum"]
    assert set(choices) == set(FOLDERS)
    for name in choices:
        assert description(name).name == name


def test_a_log_line_is_read_as_the_metric_it_shows() -> None:
    line = (
        " [2026-01-31 10:00:00] iteration       10/     100 | consumed samples:           80 | "
        "elapsed time per iteration (ms): 512.3 | learning rate: 9.500000E-06 | global batch size:     8 | "
        "lm loss: 2.345678E+00 | loss scale: 1.0 | grad norm: 1.234 | number of skipped iterations:   0 | "
        "number of nan iterations:   0 |"
    )
    assert metric(line) == {
        "iteration": 10,
        "total_iterations": 100,
        "consumed_samples": 80,
        "elapsed_ms_per_iteration": 512.3,
        "learning_rate": 9.5e-06,
        "lm_loss": 2.345678,
        "grad_norm": 1.234,
        "skipped": 0,
    }
    assert metric("saving checkpoint at iteration 10") is None
    assert json.dumps(metric(line.replace("2.345678E+00", "nan"))).count("NaN") == 1


def test_our_own_log_line_is_read_back() -> None:
    from datetime import datetime

    from engine.training.report import Iteration, log_line

    made = Iteration(
        number=3,
        total=9,
        consumed_samples=24,
        global_batch_size=8,
        loss=1.25,
        grad_norm=0.5,
        learning_rate=1e-05,
        elapsed_ms=250.5,
        skipped=True,
    )
    assert metric(log_line(made, datetime(2026, 1, 31))) == {
        "iteration": 3,
        "total_iterations": 9,
        "consumed_samples": 24,
        "elapsed_ms_per_iteration": 250.5,
        "learning_rate": 1e-05,
        "lm_loss": 1.25,
        "grad_norm": 0.5,
        "skipped": 1,
    }
