"""The form and the spec are the same thing in two spellings."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from engine.spec import JobSpec
from webui.fields import CONSTANTS, FIELDS
from webui.forms import to_data, to_inputs


def _leaves(part: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in part.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _leaves(inner, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_every_leaf_of_the_spec_has_a_field() -> None:
    assert set(_leaves(JobSpec)) == set(FIELDS) | set(CONSTANTS)


def test_a_form_becomes_the_spec_that_it_shows(inputs: dict[str, str]) -> None:
    spec = JobSpec.model_validate(to_data(inputs))
    assert (spec.devices, spec.train.seq_length, spec.train.learning_rate) == (1, 128, 1e-4)
    assert spec.train.micro_batch_size is None
    assert spec.train.resume.auto_recovery


def test_a_spec_survives_the_way_through_the_form(inputs: dict[str, str]) -> None:
    rich = {
        **inputs,
        "train.strategy": "lora",
        "train.lora.target_modules": "q_proj, v_proj",
        "train.lora.alpha": "12.5",
        "train.sample_prompts": "Who are you?\n\n你是谁？\n",
        "train.layout.zero_stage": "2",
        "train.layout.recompute": "full",
        "train.micro_batch_size": "4",
        "train.learning_rate": "0.00012345678",
    }
    del rich["train.resume.auto_recovery"]
    spec = JobSpec.model_validate(to_data(rich))
    assert spec.train.sample_prompts == ("Who are you?", "你是谁？")
    assert not spec.train.resume.auto_recovery
    assert JobSpec.model_validate(to_data(to_inputs(spec.model_dump(mode="json")))) == spec


def test_a_wrong_number_is_passed_on_as_it_is(inputs: dict[str, str]) -> None:
    data = to_data({**inputs, "devices": "eight", "train.seq_length": "12.5", "train.learning_rate": "nan"})
    assert (data["devices"], data["train"]["seq_length"], data["train"]["learning_rate"]) == ("eight", "12.5", "nan")


def test_an_empty_input_is_left_out(inputs: dict[str, str]) -> None:
    data = to_data({**inputs, "name": "  ", "train.seq_length": ""})
    assert "name" not in data
    assert "seq_length" not in data["train"]
