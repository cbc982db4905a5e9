"""Rules about what MindSpeed-LLM's programs take, beside what every framework asks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from engine.frameworks.mindspeed_llm import lora
from engine.frameworks.mindspeed_llm.families import Family, family_of
from engine.frameworks.mindspeed_llm.profiles import (
    NEW,
    PROFILES,
    RELEASE_VARIABLE,
    Profile,
    UnknownRelease,
    chosen,
)
from engine.planner.ask import Ask
from engine.problems import Fault, Problem, Severity, Value

NAME = "mindspeed-llm"


def commands(ask: Ask) -> Iterator[Problem]:
    """Is there a template, a converter, and a way back? Only for a model that the framework is offered for."""
    shape, model = ask.shape, ask.model
    if ask.spec.framework != NAME or model is None or NAME not in model.frameworks or shape is None:
        return
    family, profile = family_of(shape), _profile()
    if profile is None:
        known = ", ".join(PROFILES)
        release = os.environ.get(RELEASE_VARIABLE, "")
        yield _problem("mindspeed_llm.unknown_release", "framework", fault="site", release=release, known=known)
    elif family is None:
        yield _problem("mindspeed_llm.no_commands", "model", fault="software", model=model.name)
    elif profile.converter(family) is None:
        able = _able(lambda other: other.converter(family) is not None)
        yield _problem(
            "mindspeed_llm.no_converter", "model", fault="site", model=model.name, release=profile.release, known=able
        )
    elif not profile.converts_back(family, shape):
        able = _able(lambda other: other.converts_back(family, shape))
        yield _problem(
            "mindspeed_llm.not_back",
            "model",
            severity="warning",
            fault="site",
            model=model.name,
            release=profile.release,
            known=able,
        )


def vocabulary(ask: Ask) -> Iterator[Problem]:
    """The older converter pads the vocabulary to what tensor parallel divides, the newer one cuts as it is."""
    size, shape, family = ask.spec.train.layout.tensor_parallel_size, ask.shape, _family(ask)
    profile = _profile()
    if size is None or shape is None or family is None or profile is None or profile.converter(family) != NEW:
        return
    if shape.vocab_size % size:
        place = "train.layout.tensor_parallel_size"
        parameters: dict[str, Value] = {"tensor_parallel_size": size, "vocab_size": shape.vocab_size}
        yield Problem(code="mindspeed_llm.vocabulary", field=place, parameters=parameters, nearest={place: None})


def samples(ask: Ask) -> Iterator[Problem]:
    """The template follows from the model's family, every answer is learnt, and a row is a sample."""
    if ask.spec.framework != NAME:
        return
    train = ask.spec.train
    asked: tuple[tuple[str, Value, Value], ...] = (
        ("dataset.template", train.dataset.template, None),
        ("dataset.train_on", train.dataset.train_on, "every_answer"),
        ("packing", train.packing, None),
    )
    for name, value, idle in asked:
        if value != idle and value is not False:
            place = f"train.{name}"
            yield Problem(
                code="mindspeed_llm.samples",
                field=place,
                fault="software",
                parameters={"name": name, "value": value},
                nearest={place: idle},
            )


def adapters(ask: Ask) -> Iterator[Problem]:
    train = ask.spec.train
    if ask.spec.framework != NAME or train.strategy != "lora":
        return
    options = train.lora
    if options.dropout:
        place = "train.lora.dropout"
        parameters = {"dropout": options.dropout}
        yield Problem(code="mindspeed_llm.lora_dropout", field=place, parameters=parameters, nearest={place: 0.0})
    if not float(options.alpha).is_integer():
        nearest, place = max(1, round(options.alpha)), "train.lora.alpha"
        yield Problem(
            code="mindspeed_llm.lora_alpha",
            field=place,
            parameters={"alpha": options.alpha, "nearest": nearest},
            nearest={place: nearest},
        )
    yield from _layers(options.target_modules or ())


def _layers(names: tuple[str, ...]) -> Iterator[Problem]:
    place, missing = "train.lora.target_modules", lora.unknown(names)
    if missing:
        parameters = {"layer": ", ".join(missing), "known": ", ".join(sorted(lora.MEGATRON))}
        yield Problem(code="mindspeed_llm.lora_layer", field=place, parameters=parameters, nearest={place: None})
    elif wider := lora.widened(names):
        parameters = {"layers": ", ".join(wider)}
        yield Problem(code="mindspeed_llm.lora_widened", field=place, severity="note", parameters=parameters)


def _family(ask: Ask) -> Family | None:
    return None if ask.spec.framework != NAME or ask.shape is None else family_of(ask.shape)


def _profile() -> Profile | None:
    try:
        return chosen()
    except UnknownRelease:
        return None


def _able(does: Callable[[Profile], bool]) -> str:
    """The releases that can, newest first."""
    return ", ".join(profile.release for profile in reversed(PROFILES.values()) if does(profile)) or "-"


def _problem(
    code: str, field: str, *, severity: Severity = "error", fault: Fault = "user", **parameters: Value
) -> Problem:
    return Problem(code=code, field=field, severity=severity, fault=fault, parameters=parameters)
