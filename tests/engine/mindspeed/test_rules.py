"""What a request is told before MindSpeed-LLM is asked to do what it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalog import load
from engine.frameworks.mindspeed_llm.profiles import RELEASE_VARIABLE
from engine.planner import check, plan
from engine.problem_texts import message, remedy
from engine.problems import LANGUAGES, Problem
from engine.spec import JobSpec
from tests.engine.asked import request

CATALOG = load()


def found(**changes: Any) -> dict[str, Problem]:
    """By code, of MindSpeed-LLM's own."""
    problems = check(request(**changes), CATALOG).problems
    for problem, language in ((problem, language) for problem in problems for language in LANGUAGES):
        assert "?" not in message(problem, language) + remedy(problem, language)
    return {problem.code: problem for problem in problems if problem.code.startswith("mindspeed_llm.")}


def test_a_usual_request_needs_no_word() -> None:
    assert not found()
    assert not found(train__strategy="lora")


@pytest.mark.parametrize(
    ("changes", "code", "nearest"),
    [
        ({"train__lora__dropout": 0.1}, "mindspeed_llm.lora_dropout", {"train.lora.dropout": 0.0}),
        ({"train__lora__alpha": 16.5}, "mindspeed_llm.lora_alpha", {"train.lora.alpha": 16}),
        (
            {"train__lora__target_modules": ["q_proj", "lm_head"]},
            "mindspeed_llm.lora_layer",
            {"train.lora.target_modules": None},
        ),
    ],
)
def test_what_its_lora_has_not_is_refused_with_the_nearest(
    changes: dict[str, Any], code: str, nearest: dict[str, Any]
) -> None:
    problem = found(train__strategy="lora", **changes)[code]
    assert (problem.severity, problem.nearest) == ("error", nearest)
    assert not found(train__strategy="full", **changes)
    assert not found(train__strategy="lora", framework="llama-factory", **changes)


def test_adapters_on_a_part_of_a_layer_are_on_all_of_it_and_that_is_said() -> None:
    problem = found(train__strategy="lora", train__lora__target_modules=["q_proj", "v_proj"])[
        "mindspeed_llm.lora_widened"
    ]
    assert (problem.severity, problem.parameters) == ("note", {"layers": "k_proj"})
    whole = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    assert not found(train__strategy="lora", train__lora__target_modules=whole)


def test_a_release_that_the_site_names_wrongly_is_the_sites_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RELEASE_VARIABLE, "1.0")
    problem = found()["mindspeed_llm.unknown_release"]
    assert (problem.severity, problem.fault, problem.parameters["release"]) == ("error", "site", "1.0")


def test_a_release_without_a_converter_for_the_model_says_which_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RELEASE_VARIABLE, "master")
    problem = found(model="glm4-9b", model_path="glm4")["mindspeed_llm.no_converter"]
    assert (problem.severity, problem.parameters["known"]) == ("error", "26.1.0, 2.3.0")


def test_a_release_that_does_not_convert_back_rightly_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RELEASE_VARIABLE, "master")
    problem = found()["mindspeed_llm.not_back"]
    assert (problem.severity, problem.parameters["known"]) == ("warning", "26.1.0, 2.3.0")
    stages = plan(JobSpec.model_validate(request()), CATALOG).stages
    assert [stage.name for stage in stages] == ["preprocess", "convert", "train"]


def test_a_converter_that_does_not_pad_wants_a_vocabulary_that_divides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RELEASE_VARIABLE, "master")
    assert "mindspeed_llm.vocabulary" not in found(train__layout__tensor_parallel_size=4)
    problem = found(train__layout__tensor_parallel_size=5, devices=5)["mindspeed_llm.vocabulary"]
    assert problem.parameters == {"tensor_parallel_size": 5, "vocab_size": 128256}


def test_a_named_checkpoint_is_taken_for_full_training_and_refused_for_lora() -> None:
    told = {one.code: one.severity for one in check(request(train__resume__checkpoint_path="x"), CATALOG).problems}
    assert "resume.recovery_first" in told
    assert "error" not in told.values()
    refused = check(request(train__resume__checkpoint_path="x", train__strategy="lora"), CATALOG).problems
    assert "resume.not_with_lora" in {problem.code for problem in refused if problem.severity == "error"}


@pytest.mark.parametrize(
    ("name", "value"), [("dataset.template", "yi"), ("dataset.train_on", "last_answer"), ("packing", True)]
)
def test_what_is_not_passed_on_is_refused_by_name(name: str, value: Any) -> None:
    asked = {f"train__{name.replace('.', '__')}": value}
    problem = found(**asked)["mindspeed_llm.samples"]
    assert (problem.severity, problem.field) == ("error", f"train.{name}")
    assert not found(**asked, framework="llama-factory")
