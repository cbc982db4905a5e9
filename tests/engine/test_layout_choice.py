"""Which layout a job gets, the reason of each decision, and which ones are refused."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from engine import problem_texts
from engine.plan import Plan
from engine.planner import Unplannable, check, plan
from engine.planner.nearest import changed
from engine.problems import LANGUAGES, Problem
from engine.spec import JobSpec
from tests.engine.asked import native, request
from tests.engine.memory_questions import CATALOG


def decided(**changes: Any) -> Plan:
    return plan(JobSpec.model_validate(request(**changes)), CATALOG)


def sizes(made: Plan) -> tuple[int, int, int]:
    layout = made.layout
    return layout.tensor_parallel_size, layout.pipeline_parallel_size, layout.data_parallel_size


def reasons(made: Plan) -> dict[str, str]:
    return {reason.decision: reason.code for reason in made.reasons}


def found(data: dict[str, Any]) -> dict[str, Problem]:
    return {problem.code: problem for problem in check(data, CATALOG).problems}


def test_the_vendors_layout_comes_first_where_it_fits() -> None:
    made = decided()
    assert sizes(made) == (4, 1, 2)
    assert reasons(made)["layout.tensor_parallel_size"] == "reason.layout_table"
    assert made.layout.recompute == "none"


def test_a_vendors_layout_that_does_not_fit_gives_way() -> None:
    """llama2-7b at 4096 is printed with 1 × 4."""
    printed = decided(model="llama2-7b", devices=4)
    smaller = decided(model="llama2-7b", devices=2, train__strategy="lora")
    assert sizes(printed) == (1, 4, 1)
    assert sizes(smaller)[1] < 4
    assert reasons(smaller)["layout.tensor_parallel_size"] == "reason.tensor_least"


def test_without_a_row_the_least_cutting_that_fits_is_chosen() -> None:
    made = decided(train__seq_length=6000)
    assert sizes(made) == (2, 1, 4)
    assert reasons(made)["layout.tensor_parallel_size"] == "reason.tensor_least"


def test_fewer_devices_than_recommended_get_recompute_and_then_everything_that_saves() -> None:
    enough = decided(model="llama3.1-70b", devices=64, train__seq_length=8000)
    fewer = decided(model="llama3.1-70b", devices=32, train__seq_length=8000)
    assert (enough.layout.recompute, fewer.layout.recompute) == ("none", "full")
    assert reasons(fewer)["layout.recompute"] == "reason.recompute_full"
    assert "devices.below_recommended" in found(request(model="llama3.1-70b", devices=32, train__seq_length=8000))


def test_a_wish_is_kept_and_named() -> None:
    made = decided(train__layout__tensor_parallel_size=8, train__micro_batch_size=2)
    assert sizes(made) == (8, 1, 1)
    assert reasons(made)["layout.tensor_parallel_size"] == "reason.asked"
    assert reasons(made)["batch.micro_batch_size"] == "reason.asked"
    assert made.batch.micro_batch_size == 2


def test_the_replicas_always_share_the_batch_evenly() -> None:
    made = decided(train__global_batch_size=3, train__seq_length=2048)
    layout, batch = made.layout, made.batch
    assert batch.global_batch_size == 3
    assert batch.micro_batch_size * layout.data_parallel_size * batch.gradient_accumulation_steps == 3


def test_a_mixture_is_recomputed_and_its_experts_are_shared_out() -> None:
    made = decided(model="deepseek-v3", devices=512, train__global_batch_size=512)
    assert made.layout.recompute == "full"
    assert made.layout.expert_parallel_size > 1
    assert made.layout.data_parallel_size % made.layout.expert_parallel_size == 0


def test_a_long_sequence_is_cut() -> None:
    made = decided(train__seq_length=131072, devices=32)
    assert made.layout.context_parallel_size >= 2
    assert reasons(made)["layout.context_parallel_size"] == "reason.context_long"


def test_llama_factory_gets_the_vendors_zero_level_or_the_lowest_with_room() -> None:
    printed = decided(model="llama3.1-8b", framework="llama-factory", devices=8)
    assert (printed.layout.zero_stage, reasons(printed)["layout.zero_stage"]) == (2, "reason.zero_table")
    assert printed.layout.data_parallel_size == 8
    roomy = decided(model="qwen2.5-14b", framework="llama-factory", devices=8)
    assert (roomy.layout.zero_stage, reasons(roomy)["layout.zero_stage"]) == (3, "reason.zero_roomy")
    assert reasons(roomy)["layout.data_parallel_size"] == "reason.zero_replicas"
    whole = decided(model="qwen2.5-7b", framework="llama-factory", devices=8, train__strategy="lora")
    assert (whole.layout.zero_stage, reasons(whole)["layout.data_parallel_size"]) == (0, "reason.whole_replicas")
    alone = decided(model="qwen2-0.5b", framework="llama-factory", devices=1)
    assert (alone.layout.zero_stage, reasons(alone)["layout.zero_stage"]) == (0, "reason.zero_alone")


def test_llama_factory_accumulates_as_the_vendors_table_says() -> None:
    made = decided(model="llama3.1-8b", framework="llama-factory", devices=8, train__global_batch_size=None)
    assert made.batch.gradient_accumulation_steps == 8
    assert reasons(made)["batch.global_batch_size"] == "reason.accumulation_table"


def test_memory_fits_and_time_is_a_range_with_its_basis() -> None:
    made = decided(train__train_iters=100, train__epochs=None)
    assert made.memory is not None
    assert made.eta is not None
    assert made.memory.per_device_gib < (made.memory.usable_gib or 0)
    assert made.memory.usable_gib == 60.97
    assert made.eta.seconds_low * 2 == pytest.approx(made.eta.seconds_high, rel=0.01)
    assert made.eta.basis == "default_mfu"
    assert [stage.name for stage in made.stages] == ["preprocess", "convert", "train", "export"]


def test_time_comes_from_own_runs_where_there_are_some() -> None:
    from dataclasses import replace

    key = ("llama3.1-8b", "mindspeed-llm", "full", 4096, "snt9b")
    catalog = replace(CATALOG, own_runs={key: (3000.0, 3100.0)})
    made = plan(JobSpec.model_validate(request(train__train_iters=100, train__epochs=None)), catalog)
    assert made.eta is not None
    assert made.eta.basis == "own_runs"
    seconds = 100 * 64 * 4096 / (3050 * 8)
    assert made.eta.seconds_low < seconds < made.eta.seconds_high


def test_without_a_number_of_iterations_there_is_no_time_but_a_speed() -> None:
    made = decided()
    assert made.eta is None
    codes = [reason.code for reason in made.reasons]
    assert {"reason.eta_default_mfu", "reason.eta_after_preprocessing"} <= set(codes)


def test_a_model_without_dimensions_is_planned_without_memory() -> None:
    made = plan(JobSpec.model_validate(native(model="tiny-llama")), CATALOG)
    assert made.memory is None
    assert reasons(made)["memory"] == "reason.no_memory_estimate"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("framework", ["mindspeed-llm", "llama-factory"])
@pytest.mark.parametrize("model", ["llama3.1-8b", "qwen2.5-72b", "deepseek-v3", "glm4-9b"])
def test_every_reason_is_told_whole(model: str, framework: str, language: str) -> None:
    spec = JobSpec.model_validate(request(model=model, framework=framework, devices=512, train__global_batch_size=None))
    if framework == "llama-factory" and model == "deepseek-v3":
        with pytest.raises(Unplannable):
            plan(spec, CATALOG)
        return
    for reason in plan(spec, CATALOG).reasons:
        text = problem_texts.reason(reason, language)
        assert text != reason.code
        assert "?" not in text
        assert "{" not in text


@pytest.mark.parametrize("seed", range(300))
def test_whatever_the_check_lets_pass_can_be_decided_and_fits(seed: int) -> None:
    dice = random.Random(seed)
    data = request(
        model=dice.choice(list(CATALOG.architectures)),
        framework=dice.choice(["native", "mindspeed-llm", "llama-factory"]),
        hardware=dice.choice(["snt9b", "snt9b23", "cuda", "cpu"]),
        devices=dice.choice([1, 2, 3, 4, 6, 8, 16, 32, 48, 64, 512]),
        train__strategy=dice.choice(["full", "lora"]),
        train__seq_length=dice.choice([512, 4096, 4097, 8192, 16384, 40004, 65536]),
        train__micro_batch_size=dice.choice([None, None, 1, 3, 8]),
        train__global_batch_size=dice.choice([None, 64, 24, 7]),
        train__train_iters=dice.choice([None, 100]),
        train__layout__tensor_parallel_size=dice.choice([None, None, None, 2, 4]),
        train__layout__pipeline_parallel_size=dice.choice([None, None, None, 2, 3]),
        train__layout__context_parallel_size=dice.choice([None, None, None, 2]),
        train__layout__expert_parallel_size=dice.choice([None, None, None, 4]),
        train__layout__zero_stage=dice.choice([None, None, None, 1]),
        train__layout__recompute=dice.choice([None, None, None, "full", "none", "selective"]),
    )
    verdict = check(data, CATALOG)
    assert verdict.spec is not None
    if not verdict.fits:
        return
    made = plan(verdict.spec, CATALOG)
    layout, batch = made.layout, made.batch
    assert batch.micro_batch_size * layout.data_parallel_size * batch.gradient_accumulation_steps == (
        batch.global_batch_size
    )
    if verdict.spec.framework == "mindspeed-llm":
        length, cut = verdict.spec.train.seq_length, layout.context_parallel_size
        assert length % (2 * cut if cut > 1 else 1) == 0
        assert length // cut % layout.tensor_parallel_size == 0
    for name, value in verdict.spec.train.layout:
        assert value in (None, getattr(layout, name)) or name == "zero_stage"  # alone there is nothing to share out
    if made.memory is not None and made.memory.usable_gib is not None:
        assert made.memory.per_device_gib <= made.memory.usable_gib + 0.01


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (
        request(model="glm4-9b", train__layout__tensor_parallel_size=4),
        "layout.heads",
        "train.layout.tensor_parallel_size",
    ),
    (
        request(model="qwen2.5-7b", train__layout__tensor_parallel_size=8),
        "layout.heads",
        "train.layout.tensor_parallel_size",
    ),
    (
        request(devices=6, train__layout__tensor_parallel_size=4),
        "layout.product",
        "train.layout.tensor_parallel_size",
    ),
    (request(hardware="snt9b23", devices=3), "devices.step", "devices"),
    (
        request(model="llama2-7b", devices=32, train__layout__tensor_parallel_size=32),
        "layout.tensor_too_large",
        "train.layout.tensor_parallel_size",
    ),
    (
        request(model="llama3.1-8b", devices=64, train__layout__pipeline_parallel_size=64),
        "layout.too_many_stages",
        "train.layout.pipeline_parallel_size",
    ),
    (
        request(train__seq_length=65536, train__layout__context_parallel_size=1),
        "layout.context_needed",
        "train.layout.context_parallel_size",
    ),
    (
        request(train__layout__expert_parallel_size=2),
        "layout.no_experts",
        "train.layout.expert_parallel_size",
    ),
    (
        request(model="mixtral-8x7b", devices=48, train__layout__expert_parallel_size=3),
        "layout.experts",
        "train.layout.expert_parallel_size",
    ),
    (
        request(framework="llama-factory", train__layout__tensor_parallel_size=2),
        "layout.not_of_framework",
        "train.layout.tensor_parallel_size",
    ),
    (request(train__layout__zero_stage=3), "layout.not_of_framework", "train.layout.zero_stage"),
    (
        request(framework="llama-factory", train__layout__recompute="none"),
        "layout.fixed_in_framework",
        "train.layout.recompute",
    ),
    (
        request(model="qwen2.5-0.5b", framework="llama-factory", hardware="cpu", train__layout__recompute="full"),
        "layout.fixed_in_framework",
        "train.layout.recompute",
    ),
    (
        request(model="qwen2.5-0.5b", framework="llama-factory", hardware="cpu", train__layout__zero_stage=2),
        "layout.fixed_in_framework",
        "train.layout.zero_stage",
    ),
    (
        request(train__seq_length=4098, train__layout__tensor_parallel_size=4),
        "layout.length",
        "train.seq_length",
    ),
    (
        request(train__seq_length=40966, train__layout__context_parallel_size=2, devices=32),
        "layout.length",
        "train.seq_length",
    ),
    (
        request(model="llama3.1-70b", train__seq_length=40001, devices=64),
        "layout.length_none",
        "train.seq_length",
    ),
    (request(train__micro_batch_size=64), "memory.micro_batch", "train.micro_batch_size"),
    (
        request(devices=4, train__layout__tensor_parallel_size=1, train__layout__pipeline_parallel_size=1),
        "memory.layout",
        "train.layout.tensor_parallel_size",
    ),
    (
        request(model="qwen2-0.5b", devices=64, train__seq_length=512, train__global_batch_size=7),
        "batch.no_layout",
        "train.global_batch_size",
    ),
    (
        request(model="llama3.1-8b", framework="llama-factory", train__seq_length=131072, train__strategy="lora"),
        "devices.memory_never",
        "train.seq_length",
    ),
    (
        request(model="llama3.2-1b", devices=1, train__seq_length=65536),
        "layout.none",
        "devices",
    ),
    (
        request(
            model="mixtral-8x7b",
            devices=16,
            train__layout__tensor_parallel_size=4,
            train__layout__expert_parallel_size=8,
        ),
        "layout.none",
        "train.layout.tensor_parallel_size",
    ),
    (
        request(train__strategy="lora", train__resume__checkpoint_path="x"),
        "resume.not_with_lora",
        "train.resume.checkpoint_path",
    ),
]


@pytest.mark.parametrize(("data", "code", "field"), REFUSED, ids=[one[1] for one in REFUSED])
def test_what_cannot_be_is_refused_on_its_field_with_a_cure(data: dict[str, Any], code: str, field: str) -> None:
    problem = found(data)[code]
    assert (problem.field, problem.severity) == (field, "error")
    for language in LANGUAGES:
        assert "?" not in problem_texts.message(problem, language) + problem_texts.remedy(problem, language)
    if problem.nearest:
        assert code not in found(changed(JobSpec.model_validate(data), problem.nearest).model_dump())
    else:
        assert code == "devices.memory_never"


def test_more_devices_for_parallel_sizes_are_whole_nodes_too() -> None:
    verdict = check(request(train__layout__pipeline_parallel_size=3, train__global_batch_size=None), CATALOG)
    problem = next(problem for problem in verdict.problems if problem.code == "layout.product")
    assert problem.nearest == {"devices": 24}
    assert verdict.nearest[0] == {"devices": 24}


NOTED = [
    (request(devices=6, train__layout__pipeline_parallel_size=6, train__global_batch_size=None), "layout.uneven"),
    (request(model="yi-6b"), "model.slow_tokenizer"),
    (request(model="glm4-9b"), "model.pinned_revision"),
    (request(model="glm3-6b"), "model.remote_code"),
    (request(model="qwen-7b"), "model.remote_code"),
    (request(model="llama2-7b"), "model.do_sample"),
    (request(train__resume__checkpoint_path="x"), "resume.recovery_first"),
    (request(model="llama3.1-70b", devices=64), "checkpoint.size"),
    (request(), "checkpoint.size_alone"),
    (request(model="llama3.1-70b", devices=64), "devices.shared_storage"),
    (request(model="llama2-70b", devices=64), "model.chat_weights"),
    (request(model="yi-6b"), "model.retired"),
    (request(model="glm4-9b"), "model.remote_code"),
    (request(train__lora__rank=4), "lora.unused"),
    (native(model="tiny-llama"), "devices.no_table"),
    (request(model="llama3.2-1b", framework="llama-factory", hardware="snt9b23"), "suspect.one_die"),
    (
        request(model="deepseek-v3", devices=512, train__layout__pipeline_parallel_size=8),
        "layout.empty_layers",
    ),
    (request(model="qwen2.5-7b", train__layout__context_parallel_size=2), "layout.context_family"),
    (request(model="qwen2.5-7b", devices=16, train__seq_length=32769), "layout.context_family"),
    (request(model="mixtral-8x7b", devices=16, train__strategy="lora"), "devices.no_row"),
    (request(model="llama3.1-70b", devices=32, train__seq_length=8000), "devices.below_recommended"),
]


@pytest.mark.parametrize(("data", "code"), NOTED, ids=[one[1] for one in NOTED])
def test_what_has_to_be_known_is_said_and_refuses_nothing(data: dict[str, Any], code: str) -> None:
    problems = found(data)
    assert problems[code].severity in ("warning", "note")
    for language in LANGUAGES:
        assert "?" not in problem_texts.message(problems[code], language)


def test_a_model_of_unknown_dimensions_without_a_row_says_that_nothing_is_known() -> None:
    bare = replace(CATALOG, architectures={})
    data = request(model="mixtral-8x7b", devices=16, train__strategy="lora")
    codes = {problem.code for problem in check(data, bare).problems}
    assert "devices.no_row_no_estimate" in codes
    assert "devices.no_row" not in codes


@pytest.mark.parametrize("model", ["llama3-8b", "llama3.1-8b", "llama3.2-3b"])
def test_the_llama_3_family_may_cut_long_sequences(model: str) -> None:
    data = request(model=model, devices=16, train__layout__context_parallel_size=2, train__global_batch_size=None)
    assert "layout.context_family" not in found(data)


def test_a_model_without_a_row_gets_the_estimate() -> None:
    verdict = check(request(model="mixtral-8x7b", devices=16, train__strategy="lora"), CATALOG)
    assert verdict.fits
    assert (verdict.devices.table, verdict.devices.unsupported) == (None, False)
    assert verdict.devices.floor is not None
    assert verdict.devices.recommended is not None
    assert f"{verdict.devices.floor} devices are enough" in problem_texts.message(found_no_row(verdict.problems), "en")


def found_no_row(problems: tuple[Problem, ...]) -> Problem:
    return next(problem for problem in problems if problem.code == "devices.no_row")


def test_our_own_engine_says_what_a_process_takes() -> None:
    problem = found(native())["devices.native_estimate"]
    memory = plan(JobSpec.model_validate(native()), CATALOG).memory
    assert memory is not None
    assert problem.parameters["needed"] == pytest.approx(memory.per_device_gib, abs=0.01)
    assert problem.parameters["capacity"] is None
