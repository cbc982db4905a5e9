"""Whose weights a folder holds: the dimensions in its config.json beside the rows of the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.architecture import Architecture
from engine.catalog import Catalog, ModelRow
from engine.model_folder import PATH
from engine.problems import Problem, Value

DIMENSIONS = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "vocab_size",
)
"""What no fine-tuning changes, but for a few words that are added."""
OTHER_NAMES = {"num_hidden_layers": "num_layers", "vocab_size": "padded_vocab_size"}
"""ChatGLM's."""
ADDED_WORDS = 1024
PADDED = 0.02
"""A vocabulary or a feed-forward that is larger or smaller by so much is the same one, with words added or padding."""
TWICE = "qwen"
"""Model type whose configurations print twice the intermediate size."""


def problems(config: Mapping[str, Any], model: ModelRow, catalog: Catalog, path: str) -> Iterator[Problem]:
    """One error for the weights of another model; a warning for what a variant of the same model may change."""
    found, shape = _dimensions(config), catalog.architectures.get(model.name)
    different = _different(found, shape or model)
    if not different:
        yield from _variant(config, model)
        return
    others = [other for other in catalog.architectures.values() if _is(found, other)]
    fitting = [other.model for other in others if config.get("model_type") == other.model_type]
    names = fitting or [other.model for other in others]
    differences = "; ".join(f"{name} {found[name]} ({expected})" for name, expected in different.items())
    parameters: dict[str, Value] = {"path": path[:200], "model": model.name, "differences": differences}
    if names:
        parameters["found"] = ", ".join(names[:3])
        yield Problem(code="model_path.other_model", field=PATH, parameters=parameters, nearest={"model": names[0]})
    else:
        yield Problem(code="model_path.unlike", field=PATH, parameters=parameters)


def _dimensions(config: Mapping[str, Any]) -> dict[str, int]:
    """Those that the file has as numbers; a model with a vision tower may have them in a part of it."""
    part = config.get("text_config")
    merged = {**part, **config} if isinstance(part, Mapping) else config
    named = {name: merged.get(name, merged.get(OTHER_NAMES.get(name, ""))) for name in DIMENSIONS}
    numbers = {name: value for name, value in named.items() if type(value) is int and value > 0}
    if config.get("model_type") == TWICE and "intermediate_size" in numbers:
        numbers["intermediate_size"] //= 2
    return numbers


def _different(found: Mapping[str, int], expected: Architecture | ModelRow) -> dict[str, int]:
    """Dimension → the row's value, for each that is not the folder's."""
    values = {name: getattr(expected, name, None) for name in found}
    return {name: value for name, value in values.items() if value is not None and not _same(name, found[name], value)}


def _same(name: str, found: int, expected: int) -> bool:
    room = 0
    if name == "vocab_size":
        room = max(ADDED_WORDS, round(PADDED * expected))
    elif name == "intermediate_size":
        room = round(PADDED * expected)
    return abs(found - expected) <= room


def _is(found: Mapping[str, int], shape: Architecture) -> bool:
    """Are enough dimensions there to tell models apart, and are they this one's?"""
    return len(found) >= len(DIMENSIONS) - 2 and not _different(found, shape)


def _variant(config: Mapping[str, Any], model: ModelRow) -> Iterator[Problem]:
    architectures = config.get("architectures")
    known = isinstance(architectures, list) and bool(architectures)
    pairs = {
        "architecture": (architectures[0] if known and architectures else None, model.architecture or None),
        "max_position_embeddings": (config.get("max_position_embeddings"), model.max_position_embeddings),
    }
    for name, (found, expected) in pairs.items():
        if found is not None and expected is not None and found != expected:
            parameters: dict[str, Value] = {"name": name, "found": str(found)[:80], "expected": expected}
            yield Problem(
                code="model_path.differs",
                field=PATH,
                severity="warning",
                parameters={**parameters, "model": model.name},
            )
