"""Rules about the dataset that need no look at the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from engine import formats
from engine.planner.ask import Ask
from engine.problems import Problem, Value


def format_of_framework(ask: Ask) -> Iterator[Problem]:
    choice = ask.spec.train.dataset.format
    if choice in ask.framework.formats:
        return
    later = choice in ask.framework.formats_later
    yield Problem(
        code="dataset.format_not_yet" if later else "dataset.format_not_in_framework",
        field="train.dataset.format",
        fault="software" if later else "user",
        parameters={
            "format": choice,
            "framework": ask.spec.framework,
            "allowed": ", ".join(ask.framework.formats),
        },
        nearest={"framework": "mindspeed-llm"},
    )


def format_of_stage(ask: Ask) -> Iterator[Problem]:
    """Pre-training reads a text column and fine-tuning reads conversations.

    Both upstreams do so: MindSpeed-LLM's pre-training takes `--json-keys text`, LLaMA-Factory's stage pt a
    text column (it has no sharegpt there), and their fine-tuning drops rows that have no answer.
    """
    train = ask.spec.train
    nearest: dict[str, Value]
    if train.stage == "sft" and train.dataset.format == "text":
        code, nearest = "dataset.needs_conversations", {"train.stage": "pretrain"}
    elif train.stage == "pretrain" and train.dataset.format != "text":
        code, nearest = "dataset.needs_text", {"train.stage": "sft"}
    else:
        return
    yield Problem(
        code=code,
        field="train.dataset.format",
        parameters={"stage": train.stage, "format": train.dataset.format},
        nearest=nearest,
    )


def ending(ask: Ask) -> Iterator[Problem]:
    """A file without an ending is judged by its content."""
    dataset = ask.spec.train.dataset
    suffix = PurePath(dataset.path).suffix.lower()
    allowed = formats.get(dataset.format).SUFFIXES
    if suffix and suffix not in allowed and ask.spec.framework == "native":
        yield Problem(
            code="dataset.ending",
            field="train.dataset.path",
            parameters={"ending": suffix, "format": dataset.format, "allowed": ", ".join(allowed)},
        )
