"""Rules about the dataset that need no look at the file."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import PurePath

from engine import families, formats
from engine.planner.ask import Ask
from engine.problems import Problem, Value

TEMPLATE = "train.dataset.template"
ENDINGS = (
    *formats.files.SUFFIXES, ".tsv", ".xlsx", ".xls", ".arrow", ".gz", ".zip", ".tar", ".tgz", ".zst", ".xz", ".bz2",
    ".7z", ".rar", ".doc", ".docx", ".pdf", ".md", ".html", ".xml", ".yaml", ".yml", ".bin", ".idx", ".npy", ".pt",
    ".pkl", ".safetensors", ".db",
)  # fmt: skip


def format_of_framework(ask: Ask) -> Iterator[Problem]:
    """Every framework of this release reads every format; one that is added need not."""
    choice = ask.spec.train.dataset.format
    if choice in ask.framework.formats:
        return
    yield Problem(
        code="dataset.format_not_in_framework",
        field="train.dataset.format",
        parameters={
            "format": choice,
            "framework": ask.spec.framework,
            "allowed": ", ".join(ask.framework.formats),
        },
        nearest={"framework": "native"},
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


def names(ask: Ask) -> Iterator[Problem]:
    """Names of columns and tags that the format does not look at, or that stand for two things at once."""
    dataset = ask.spec.train.dataset
    if not (dataset.columns.model_fields_set or dataset.tags.model_fields_set):
        return
    known = formats.get(dataset.format)
    parts = (("columns", dataset.columns, known.COLUMNS), ("tags", dataset.tags, known.TAGS))
    for part, given, read in parts:
        chosen: dict[str, str] = {key: name for key, name in given.model_dump().items() if name is not None}
        seen: set[str] = set()
        for key, name in chosen.items():
            field = f"train.dataset.{part}.{key}"
            if key not in read:
                parameters: dict[str, Value] = {"format": dataset.format, "read": ", ".join(read) or "-"}
                yield Problem(code="dataset.name_unused", field=field, severity="warning", parameters=parameters)
            if name in seen:
                yield Problem(code="dataset.name_twice", field=field, parameters={"name": name})
            seen.add(name)


def template(ask: Ask) -> Iterator[Problem]:
    """Is the chat template one that we have? And is it used at all?"""
    train = ask.spec.train
    chosen = train.dataset.template
    if chosen is not None and chosen not in families.NAMES and ask.spec.framework == "native":
        near = get_close_matches(chosen, families.NAMES, n=1)
        yield Problem(
            code="dataset.template_unknown",
            field=TEMPLATE,
            parameters={"template": chosen, "known": ", ".join(families.NAMES)},
            nearest={TEMPLATE: near[0]} if near else {},
        )
    if train.stage == "pretrain":
        if chosen is not None:
            yield Problem(code="dataset.template_unused", field=TEMPLATE, severity="warning")
        if train.dataset.train_on != "every_answer":
            yield Problem(code="dataset.train_on_unused", field="train.dataset.train_on", severity="warning")


def ending(ask: Ask) -> Iterator[Problem]:
    """A file without an ending is judged by its content. A point can be in the name of a folder too, so that only
    endings that are known for something else are refused without a look."""
    dataset = ask.spec.train.dataset
    suffix = PurePath(dataset.path).suffix.lower()
    allowed = formats.get(dataset.format).SUFFIXES
    if suffix in ENDINGS and suffix not in allowed and ask.spec.framework == "native":
        yield Problem(
            code="dataset.ending",
            field="train.dataset.path",
            parameters={"ending": suffix, "format": dataset.format, "allowed": ", ".join(allowed)},
        )
