"""Checks that look at the disk: the dataset's rows and the model's folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.planner.ask import Ask
from engine.planner.files import checkpoint, dataset, weights
from engine.planner.shape import Shape
from engine.problems import Problem


def problems(shape: Shape, ask: Ask, roots: Sequence[Path] | None) -> Iterator[Problem]:
    """Everything that is wrong with the files that a request names."""
    if shape.has("train.dataset.path"):
        known = shape.has("train.dataset.format")
        whole = known and shape.has("train.dataset")
        choice = ask.spec.train.dataset if whole else ask.spec.train.dataset.format if known else None
        yield from dataset.problems(ask.spec.train.dataset.path, choice, roots)
    if shape.has("model_path"):
        yield from weights.problems(ask.spec.model_path, _wanted(shape, ask), roots)
    if shape.has("train.resume") and shape.has("framework"):
        wanted = ask.spec.train.resume.checkpoint_path
        if wanted is not None and ask.spec.framework != "native":  # our own engine refuses every one
            yield from checkpoint.problems(wanted, ask.spec.framework, roots)


def _wanted(shape: Shape, ask: Ask) -> weights.Wanted:
    train, native = ask.spec.train, shape.has("framework") and ask.spec.framework == "native"
    theirs = shape.has("framework") and ask.spec.framework == "llama-factory"
    adapted = shape.has("train.strategy") and shape.has("train.lora") and train.strategy == "lora"
    known = frozenset(one.model_type for one in ask.catalog.architectures.values() if not one.remote_code)
    return weights.Wanted(
        catalog=ask.catalog,
        model=ask.model if shape.has("model") else None,
        seq_length=train.seq_length if shape.has("train.seq_length") else None,
        own_code=known if native else None,
        template=ask.model.template if theirs and shape.has("model") and ask.model is not None else "",
        layers=(train.lora.target_modules or ()) if adapted else (),
    )
