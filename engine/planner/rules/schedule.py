"""Rules about length, iterations and learning rate."""

from __future__ import annotations

from collections.abc import Iterator

from engine.planner.ask import Ask
from engine.problems import Problem
from engine.spec import LoraOptions

MOST_TOKENS = 10**15
"""Twenty times what the largest published trainings have read (some 4e13)."""
SHORT = 32
"""Tokens that a chat template alone may need."""


def short(ask: Ask) -> Iterator[Problem]:
    """Of a row that is cut before its answer nothing is learnt: it is dropped, and so may all of them be."""
    length = ask.spec.train.seq_length
    if length < SHORT and ask.spec.train.stage == "sft":
        yield Problem(
            code="seq_length.short", field="train.seq_length", severity="warning", parameters={"seq_length": length}
        )


def seq_length(ask: Ask) -> Iterator[Problem]:
    """An error, unless the vendor prints that the model is trained so: then what it prints stands, with a warning."""
    limit = ask.model.max_position_embeddings if ask.model is not None else None
    if limit is not None and ask.spec.train.seq_length > limit:
        printed = _is_printed(ask)
        yield Problem(
            code="seq_length.beyond_trained" if printed else "seq_length.too_long",
            field="train.seq_length",
            severity="warning" if printed else "error",
            parameters={"seq_length": ask.spec.train.seq_length, "limit": limit, "model": ask.spec.model},
            nearest={"train.seq_length": limit},
        )


def _is_printed(ask: Ask) -> bool:
    """Do the vendor's tables, which do not speak of our own engine, have this model with this length?"""
    name, length = ask.spec.model, ask.spec.train.seq_length
    rows = ask.catalog.min_devices.values()
    return ask.framework.table and (
        (name, length) in ask.catalog.parallel_configs
        or any(row.devices is not None and (row.model, row.seq_length) == (name, length) for row in rows)
    )


def both_lengths(ask: Ask) -> Iterator[Problem]:
    train = ask.spec.train
    if train.train_iters is not None and train.epochs is not None:
        yield Problem(
            code="epochs.unused",
            field="train.epochs",
            severity="note",
            parameters={"epochs": train.epochs, "train_iters": train.train_iters},
            nearest={"train.epochs": None},
        )


def tokens(ask: Ask) -> Iterator[Problem]:
    """Each number may be sane alone and their product beyond what any machine reads in a lifetime."""
    train = ask.spec.train
    in_iteration = train.seq_length * (train.global_batch_size or 1)
    if train.train_iters is not None and train.train_iters * in_iteration > MOST_TOKENS:
        yield Problem(
            code="train_iters.too_many_tokens",
            field="train.train_iters",
            parameters={"tokens": f"{train.train_iters * in_iteration:.1e}", "limit": f"{MOST_TOKENS:.0e}"},
            nearest={"train.train_iters": max(1, MOST_TOKENS // in_iteration)},
        )


def learning_rates(ask: Ask) -> Iterator[Problem]:
    train = ask.spec.train
    if train.min_learning_rate is not None and train.min_learning_rate > train.learning_rate:
        yield Problem(
            code="min_learning_rate.too_large",
            field="train.min_learning_rate",
            parameters={"min_learning_rate": train.min_learning_rate, "learning_rate": train.learning_rate},
            nearest={"train.min_learning_rate": train.learning_rate},
        )


def resume(ask: Ask) -> Iterator[Problem]:
    train, place = ask.spec.train, "train.resume.checkpoint_path"
    if train.resume.checkpoint_path is None:
        return
    if ask.spec.framework == "mindspeed-llm" and train.strategy == "lora":
        yield Problem(code="resume.not_with_lora", field=place, nearest={place: None})
    elif ask.spec.framework == "native":
        yield Problem(code="resume.not_yet", field=place, fault="software", nearest={place: None})
    if ask.framework.table:
        recovers = train.resume.auto_recovery
        yield Problem(code="resume.recovery_first" if recovers else "resume.fresh_folder", field=place, severity="note")


def whole_alpha(ask: Ask) -> Iterator[Problem]:
    """LLaMA-Factory's lora_alpha is an integer."""
    train = ask.spec.train
    if ask.spec.framework != "llama-factory" or train.strategy != "lora" or float(train.lora.alpha).is_integer():
        return
    whole = max(1, round(train.lora.alpha))
    yield Problem(
        code="lora.alpha_not_whole",
        field="train.lora.alpha",
        parameters={"alpha": train.lora.alpha},
        nearest={"train.lora.alpha": float(whole)},
    )


def prompts(ask: Ask) -> Iterator[Problem]:
    """Only our own engine answers them."""
    if ask.spec.train.sample_prompts and ask.spec.framework != "native":
        parameters = {"framework": ask.spec.framework}
        yield Problem(
            code="sample_prompts.unused", field="train.sample_prompts", severity="warning", parameters=parameters
        )


def unused_lora(ask: Ask) -> Iterator[Problem]:
    train = ask.spec.train
    if train.strategy != "lora" and train.lora != LoraOptions():
        yield Problem(code="lora.unused", field="train.lora", severity="note", parameters={"strategy": train.strategy})
