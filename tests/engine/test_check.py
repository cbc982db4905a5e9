"""Every rule about a request, and that all of them speak at once."""

from __future__ import annotations

import itertools
import random
import time
from typing import Any

import pytest

from engine.catalog import load
from engine.planner import Verdict, check
from engine.planner.nearest import changed as changed_spec
from engine.planner.rules import RULES
from engine.problems import Problem
from engine.spec import JobSpec
from tests.engine.asked import native, request

CATALOG = load()


def found(verdict: Verdict) -> dict[str, Problem]:
    return {problem.code: problem for problem in verdict.problems}


def test_the_request_of_the_design_fits() -> None:
    verdict = check(request(), CATALOG)
    assert verdict.fits
    assert verdict.devices.table == 4
    assert set(found(verdict)) == {"checkpoint.size_alone"}


def test_a_native_request_fits_with_a_note_alone() -> None:
    verdict = check(native(), CATALOG)
    assert [problem.severity for problem in verdict.problems] == ["note"]


MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    (request(model="lama3.1-8b"), "model.unknown", "model"),
    (request(model="qwen2vl-7b"), "devices.unsupported", "framework"),
    (request(model="llama2-7b", framework="native", hardware="cuda"), "framework.native_cpu_only", "hardware"),
    (native(model="glm4-9b"), "framework.not_for_model", "framework"),
    (request(hardware="cuda"), "framework.not_on_hardware", "hardware"),
    (request(hardware="snt9c"), "hardware.unknown", "hardware"),
    (request(hardware="snt9b23", devices=7), "devices.step", "devices"),
    (request(devices=12), "devices.whole_nodes", "devices"),
    (native(devices=65, train__global_batch_size=None), "devices.one_machine", "devices"),
    (request(devices=2), "devices.too_few", "devices"),
    (native(train__dataset__format="text"), "dataset.needs_conversations", "train.dataset.format"),
    (native(train__stage="pretrain"), "dataset.needs_text", "train.dataset.format"),
    (native(train__dataset__path="rows.xlsx"), "dataset.ending", "train.dataset.path"),
    (native(train__dataset__template="lama3"), "dataset.template_unknown", "train.dataset.template"),
    (
        native(train__dataset__columns={"prompt": "q", "response": "q"}),
        "dataset.name_twice",
        "train.dataset.columns.response",
    ),
    (native(train__seq_length=8193), "seq_length.too_long", "train.seq_length"),
    (native(train__min_learning_rate=0.1), "min_learning_rate.too_large", "train.min_learning_rate"),
    (native(train__resume__checkpoint_path="x"), "resume.not_yet", "train.resume.checkpoint_path"),
    (
        native(train__train_iters=10**7, train__epochs=None, train__global_batch_size=2**20),
        "train_iters.too_many_tokens",
        "train.train_iters",
    ),
    (native(train__layout__context_parallel_size=2), "layout.not_yet", "train.layout.context_parallel_size"),
    (native(train__layout__tensor_parallel_size=2), "layout.product", "train.layout.tensor_parallel_size"),
    (native(devices=2, train__layout__tensor_parallel_size=2), "layout.heads", "train.layout.tensor_parallel_size"),
    (
        native(devices=32, train__layout__pipeline_parallel_size=32),
        "layout.too_many_stages",
        "train.layout.pipeline_parallel_size",
    ),
    (native(train__layout__recompute="full"), "layout.not_yet", "train.layout.recompute"),
    (native(train__layout__expert_parallel_size=2), "layout.not_yet", "train.layout.expert_parallel_size"),
    (request(train__layout__tensor_parallel_size=3), "layout.product", "train.layout.tensor_parallel_size"),
    (
        request(model="qwen2.5-7b", train__layout__tensor_parallel_size=8),
        "layout.heads",
        "train.layout.tensor_parallel_size",
    ),
    (native(train__micro_batch_size=65), "batch.micro_too_large", "train.micro_batch_size"),
    (native(devices=3), "batch.not_divisible", "train.global_batch_size"),
    (request(train__micro_batch_size=3), "batch.not_of_micro", "train.global_batch_size"),
]


@pytest.mark.parametrize(("data", "code", "field"), MISTAKES, ids=[mistake[1] for mistake in MISTAKES])
def test_a_mistake_is_found_on_its_field(data: dict[str, Any], code: str, field: str) -> None:
    verdict = check(data, CATALOG)
    assert not verdict.fits
    assert found(verdict)[code].field == field


@pytest.mark.parametrize(("data", "code", "_field"), MISTAKES, ids=[mistake[1] for mistake in MISTAKES])
def test_the_nearest_setting_of_a_problem_cures_that_problem(data: dict[str, Any], code: str, _field: str) -> None:
    problem = found(check(data, CATALOG))[code]
    if problem.nearest:
        after = check(changed_spec(JobSpec.model_validate(data), problem.nearest), CATALOG)
        assert code not in found(after)
    else:
        assert code in (
            "dataset.ending",
            "hardware.unknown",
            "framework.not_for_model",
            "dataset.names_unused",
            "dataset.name_twice",
        )


def test_the_names_of_a_misspelt_model_are_near() -> None:
    problem = found(check(request(model="Qwen2.5-7B-Instruct"), CATALOG))["model.unknown"]
    assert problem.nearest == {"model": "qwen2.5-7b"}


def test_a_length_in_which_no_answer_has_room_is_a_warning_for_conversations() -> None:
    verdict = check(native(train__seq_length=8), CATALOG)
    assert verdict.fits
    assert found(verdict)["seq_length.short"].severity == "warning"
    text = native(train__seq_length=8, train__stage="pretrain", train__dataset__format="text")
    assert "seq_length.short" not in found(check(text, CATALOG))


def test_names_that_the_format_does_not_look_at_are_warned_of_on_their_fields() -> None:
    dataset = {"columns": {"text": "body", "prompt": "q"}, "tags": {"role": "who"}}
    verdict = check(native(train__dataset=native()["train"]["dataset"] | dataset), CATALOG)
    assert verdict.fits
    unused = [problem.field for problem in verdict.problems if problem.code == "dataset.name_unused"]
    assert unused == ["train.dataset.columns.text", "train.dataset.tags.role"]


def test_both_lengths_are_a_note() -> None:
    assert found(check(native(train__train_iters=5), CATALOG))["epochs.unused"].severity == "note"


def test_a_length_without_a_row_is_a_note_that_names_the_next_longer_row() -> None:
    problem = found(check(request(train__seq_length=6000), CATALOG))["devices.no_row"]
    assert problem.severity == "note"
    assert problem.nearest == {"train.seq_length": 8192}


def test_five_mistakes_are_five_problems_on_five_fields() -> None:
    data = native(
        model="smollm-135m",
        devices=3,
        train__dataset__format="text",
        train__learning_rate="fast",
        train__layout__recompute="full",
    )
    errors = [problem for problem in check(data, CATALOG).problems if problem.severity == "error"]
    fields = {"model", "train.global_batch_size", "train.dataset.format", "train.learning_rate"}
    assert {problem.field for problem in errors} == {*fields, "train.layout.recompute"}
    assert len(errors) == 5


def test_too_few_devices_offer_more_devices_or_less_work() -> None:
    verdict = check(request(model="llama3.1-70b", devices=16), CATALOG)
    assert {"devices": 32} in verdict.nearest
    assert {"train.strategy": "lora"} in verdict.nearest


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_named_as_nearest_fits(seed: int) -> None:
    dice = random.Random(seed)
    data = request(
        model=dice.choice(list(CATALOG.models)),
        framework=dice.choice(["native", "mindspeed-llm", "llama-factory"]),
        hardware=dice.choice(list(CATALOG.hardware)),
        devices=dice.randint(1, 100),
        train__strategy=dice.choice(["full", "lora"]),
        train__seq_length=dice.choice([512, 4096, 6000, 8192, 200_000]),
        train__dataset__format=dice.choice(["alpaca", "sharegpt", "moss", "text"]),
        train__stage=dice.choice(["sft", "pretrain"]),
        train__micro_batch_size=dice.choice([None, 1, 3]),
        train__global_batch_size=dice.choice([None, 64, 70]),
        train__layout__tensor_parallel_size=dice.choice([None, 1, 2, 16]),
    )
    verdict = check(data, CATALOG)
    assert verdict.spec is not None
    for difference in verdict.nearest:
        assert check(changed_spec(verdict.spec, difference), CATALOG).fits, difference
    if verdict.fits:
        assert verdict.nearest == ()


def test_a_wrong_shape_does_not_silence_the_rules() -> None:
    data = request(hardware="snt9b23", devices=7, train__seed="x", train__min_learning_rate=1)
    assert set(found(check(data, CATALOG))) == {
        "shape.not_integer",
        "devices.step",
        "min_learning_rate.too_large",
        "checkpoint.size_alone",
    }


def test_a_rule_that_reads_a_wrong_field_is_silent() -> None:
    verdict = check(native(devices="many"), CATALOG)
    assert set(found(verdict)) == {"shape.not_integer", "devices.native_estimate"}
    assert verdict.spec is None
    assert not verdict.fits


SHAPES: list[tuple[str, Any, str]] = [
    ("name", "", "shape.empty"),
    ("name", "x" * 121, "shape.too_long"),
    ("name", 7, "shape.not_text"),
    ("name", "\ud83d", "shape.not_text"),
    ("devices", 0, "shape.too_small"),
    ("devices", 1.5, "shape.not_integer"),
    ("devices", None, "shape.not_integer"),
    ("framework", "natve", "shape.not_one_of"),
    ("framework", "\ud83d", "shape.not_text"),
    ("spec_version", 2, "shape.not_one_of"),
    ("train", 3, "shape.not_object"),
    ("train.seq_length", 10**9, "shape.too_large"),
    ("train.epochs", 0, "shape.not_above"),
    ("train.epochs", float("nan"), "shape.not_number"),
    ("train.lora.dropout", 1, "shape.not_below"),
    ("train.resume.auto_recovery", "perhaps", "shape.not_boolean"),
    ("train.lora.target_modules", "q_proj", "shape.not_list"),
    ("train.lora.target_modules", ["q_proj", 3], "shape.not_text"),
    ("train.dataset", None, "shape.not_object"),
    ("train.lenght", 1, "shape.unknown"),
    ("devices", True, "shape.not_integer"),
    ("devices", "1", "shape.not_integer"),
    ("devices", " 1 ", "shape.not_integer"),
    ("devices", 10**30, "shape.too_large"),
    ("spec_version", True, "shape.not_integer"),
    ("train.learning_rate", True, "shape.not_number"),
    ("train.learning_rate", "1e-5", "shape.not_number"),
    ("train.resume.auto_recovery", 1, "shape.not_boolean"),
    ("train.layout.zero_stage", "1", "shape.not_integer"),
    ("train.layout.tensor_parallel_size", 10**9, "shape.too_large"),
    ("train.global_batch_size", 1e30, "shape.not_integer"),
    ("train.global_batch_size", 2**31, "shape.too_large"),
    ("train.micro_batch_size", 2**31, "shape.too_large"),
    ("train.train_iters", 10**30, "shape.too_large"),
    ("train.save_interval", 10**30, "shape.too_large"),
    ("train.epochs", 1e308, "shape.too_large"),
    ("train.lora.alpha", 1e308, "shape.too_large"),
    ("train.lora.target_modules", [], "shape.empty"),
    ("train.lora.target_modules", [""], "shape.empty"),
    ("train.lora.target_modules", ["q_proj"] * 65, "shape.too_many"),
    ("train.sample_prompts", ["x"] * 10_000, "shape.too_many"),
    ("train.sample_prompts", ["x" * 10_001], "shape.too_long"),
    ("train.sample_prompts", ["a\0b"], "shape.control_characters"),
    ("name", "a\0b", "shape.control_characters"),
    ("name", "  ", "shape.empty"),
    ("name", "\n", "shape.control_characters"),
    ("name", "a\u2028b", "shape.control_characters"),
    ("model", "a\x1b[31m", "shape.control_characters"),
    ("model_path", "a\nb", "shape.control_characters"),
    ("model_path", "x" * 5000, "shape.too_long"),
    ("train.dataset.path", "a\0b", "shape.control_characters"),
]


@pytest.mark.parametrize(("path", "value", "code"), SHAPES)
def test_a_wrong_shape_is_told_in_our_own_words(path: str, value: Any, code: str) -> None:
    data = native(**{path.replace(".", "__"): value})
    problem = next(problem for problem in check(data, CATALOG).problems if problem.severity == "error")
    assert (problem.code, problem.field) == (code, path)
    for language in ("en", "zh-hans"):
        for shown in check(data, CATALOG).to_json(language)["problems"]:
            assert shown["message"] != shown["code"]
            assert "?" not in shown["message"] or value == "\ud83d"


def test_a_whole_number_may_stand_for_a_float_and_a_prompt_may_have_lines() -> None:
    verdict = check(native(train__epochs=2, train__lora__alpha=32, train__sample_prompts=["a\n\tb"]), CATALOG)
    assert verdict.fits
    assert verdict.spec is not None
    assert verdict.spec.train.sample_prompts == ("a\n\tb",)


def test_thousands_of_unknown_keys_are_counted_and_not_told_one_by_one() -> None:
    data = native(**{f"field_{number}": number for number in range(20_000)})
    start = time.process_time()
    verdict = check(data, CATALOG)
    assert time.process_time() - start < 0.5
    unknown = [problem for problem in verdict.problems if problem.code == "shape.unknown"]
    assert len(unknown) + int(found(verdict)["shape.more"].parameters["count"] or 0) == 20_000
    assert len(unknown) == 50


def test_an_unknown_key_is_shown_cut_when_it_is_very_long() -> None:
    problem = found(check(native(**{"x" * 10**6: 1}), CATALOG))["shape.unknown"]
    assert len(problem.field) <= 100


def test_the_largest_numbers_that_the_shape_allows_are_judged_in_an_instant() -> None:
    start = time.process_time()
    for data in (
        native(train__global_batch_size=2**20, train__train_iters=10**7, train__seq_length=8),
        request(devices=65_536, train__global_batch_size=2**20, train__epochs=10_000),
    ):
        check(data, CATALOG)
    assert time.process_time() - start < 0.5


def test_missing_fields_are_named_one_by_one() -> None:
    fields = {problem.field for problem in check({"train": {"dataset": {}}}, CATALOG).problems}
    assert {"name", "devices", "train.stage", "train.dataset.path", "train.dataset.format"} <= fields


@pytest.mark.parametrize("data", [[], None, "x", {}, {1: 2}, {"train": {"layout": {"x": {"y": []}}}}])
def test_no_request_is_so_wrong_that_the_check_fails(data: Any) -> None:
    assert not check(data, CATALOG).fits


def test_every_field_of_a_rule_exists() -> None:
    spec = JobSpec.model_validate(request()).model_dump()
    for path in itertools.chain.from_iterable(rule.reads for rule in RULES):
        part: Any = spec
        for key in path.split("."):
            part = part[key]


@pytest.mark.parametrize("seed", range(30))
def test_no_check_takes_more_than_50_ms_however_cold_the_caches(seed: int) -> None:
    dice = random.Random(seed)
    data = request(
        model=dice.choice(["deepseek-v3", "mixtral-8x7b", "qwen2.5-72b", "llama3.1-8b"]),
        framework=dice.choice(["mindspeed-llm", "llama-factory"]),
        hardware=dice.choice(["snt9b", "snt9b23"]),
        devices=dice.choice([1, 2, 8, 32, 512, 1024]),
        train__strategy=dice.choice(["full", "lora"]),
        train__seq_length=dice.choice([4096, 8192, 32768, 131072]),
        train__micro_batch_size=dice.choice([None, 1, 16]),
        train__global_batch_size=dice.choice([None, 7, 1024]),
    )
    assert cold(data) < 0.05


def cold(data: Any) -> float:
    """Processor seconds of a check that remembers nothing; the fastest of a few, since the machine has other work."""
    from engine.planner import fitting

    times = []
    for _ in range(5):
        for cached in (fitting.smallest, fitting.fits, fitting.need):
            cached.cache_clear()
        start = time.process_time()
        check(data, CATALOG)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("strategy", ["full", "lora"])
@pytest.mark.parametrize("framework", ["mindspeed-llm", "llama-factory"])
@pytest.mark.parametrize("model", ["deepseek-v3", "mixtral-8x7b"])
def test_the_largest_requests_that_a_field_takes_are_as_quick(model: str, framework: str, strategy: str) -> None:
    data = request(
        model=model,
        framework=framework,
        hardware="snt9b23",
        devices=65_536,
        train__strategy=strategy,
        train__seq_length=10_000_000,
        train__global_batch_size=720_720,
    )
    assert cold(data) < 0.05


def test_a_request_with_every_field_wrong_is_as_quick() -> None:
    def wrong(part: Any) -> Any:
        return {key: wrong(value) for key, value in part.items()} if isinstance(part, dict) else [part]

    assert cold(wrong(request())) < 0.05


def test_a_check_without_files_takes_less_than_50_ms() -> None:
    check(request(), CATALOG)
    start = time.process_time()
    for _ in range(5):
        check(request(model="llama3.1-70b", devices=7, train__seq_length=8192), CATALOG)
    assert (time.process_time() - start) / 5 < 0.05
