"""Rules about what LLaMA-Factory takes, beside what every framework asks."""

from __future__ import annotations

from collections.abc import Iterator

from engine.frameworks.llama_factory import TESTED
from engine.frameworks.llama_factory.templates import OF_FAMILY, SHARED_END, TEMPLATES
from engine.planner.ask import Ask
from engine.problems import Problem

NAME = "llama-factory"
TRAIN_ON = "train.dataset.train_on"


def table_template(ask: Ask) -> Iterator[Problem]:
    """A row of the model table may name a chat template that another release of LLaMA-Factory has."""
    model = ask.model
    if ask.spec.framework != NAME or model is None or not model.template or model.template in TEMPLATES:
        return
    yield Problem(
        code="framework.unknown_template",
        field="model",
        severity="warning",
        fault="site",
        parameters={"template": model.template, "model": model.name, "release": TESTED},
    )


def template(ask: Ask) -> Iterator[Problem]:
    """Has it a template that spells a conversation as this family of ours does?"""
    chosen = ask.spec.train.dataset.template
    if not _tunes(ask) or chosen is None or chosen in OF_FAMILY:
        return
    place = "train.dataset.template"
    parameters = {"template": chosen, "known": ", ".join(OF_FAMILY)}
    yield Problem(code="llama_factory.template", field=place, parameters=parameters, nearest={place: None})


def train_on(ask: Ask) -> Iterator[Problem]:
    """Where the next speaker's token ends an answer, it refuses to learn the questions, and it learns the ends of
    earlier answers although they are masked."""
    dataset = ask.spec.train.dataset
    used = OF_FAMILY.get(dataset.template or "", "" if ask.model is None else ask.model.template)
    if not _tunes(ask) or dataset.train_on == "every_answer" or used not in SHARED_END:
        return
    yield Problem(
        code="llama_factory.train_on",
        field=TRAIN_ON,
        parameters={"template": used, "train_on": dataset.train_on},
        nearest={TRAIN_ON: "every_answer"},
    )


def documents(ask: Ask) -> Iterator[Problem]:
    """Its pre-training joins documents that see each other, or takes the begin of each."""
    train = ask.spec.train
    if ask.spec.framework != NAME or train.stage != "pretrain" or train.packing is None:
        return
    yield Problem(
        code="llama_factory.documents_together" if train.packing else "llama_factory.documents_cut",
        field="train.packing",
        severity="error" if train.packing else "warning",
        parameters={"seq_length": train.seq_length},
        nearest={"train.packing": None},
    )


def _tunes(ask: Ask) -> bool:
    return ask.spec.framework == NAME and ask.spec.train.stage == "sft"
