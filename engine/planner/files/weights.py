"""The model's folder: configuration, tokenizer, weights, and whether they are what the model row says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.catalog import ModelRow
from engine.planner.files.place import Refused, resolved
from engine.problems import Problem, Value

PATH = "model_path"
TOKENIZERS = (("tokenizer.json",), ("tokenizer.model",), ("vocab.json", "merges.txt"))
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
SHAPES = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size", "max_position_embeddings")


def problems(
    path: str, model: ModelRow | None, seq_length: int | None, roots: Sequence[Path] | None
) -> Iterator[Problem]:
    """What is wrong with a model's folder."""
    try:
        folder = resolved(path, PATH, roots)
        if not folder.is_dir():
            code = "model_path.not_a_folder" if folder.exists() else "model_path.missing"
            yield _problem(code, path=path[:200])
            return
        yield from _tokenizer(folder, path)
        yield from _weights(folder, path)
        yield from _config(folder, path, model, seq_length)
    except Refused as refused:
        yield refused.problem
    except OSError as error:
        yield _problem("model_path.unreadable", path=path[:200], error=error.strerror or type(error).__name__)


def _problem(code: str, **parameters: Value) -> Problem:
    return Problem(code=code, field=PATH, parameters=parameters)


def _tokenizer(folder: Path, path: str) -> Iterator[Problem]:
    if not any(all((folder / name).is_file() for name in names) for names in TOKENIZERS):
        yield _problem("model_path.no_tokenizer", path=path[:200])


def _weights(folder: Path, path: str) -> Iterator[Problem]:
    """A shard that the index names must be there; without an index one file of weights is enough."""
    index = next((folder / name for name in INDEXES if (folder / name).is_file()), None)
    if index is not None:
        shards = _shards(_read(index))
        missing = sorted(name for name in shards if not (folder / name).is_file())
        if not shards:
            yield _problem("model_path.bad_json", path=path[:200], file=index.name)
        elif missing:
            yield _problem("model_path.missing_shard", path=path[:200], file=missing[0], count=len(missing))
    elif not any(file.stat().st_size for kind in ("*.safetensors", "pytorch_model*.bin") for file in folder.glob(kind)):
        yield _problem("model_path.no_weights", path=path[:200])


def _shards(index: Any) -> set[str]:
    """Names of the files of weights in an index; empty if it is none."""
    weight_map = index.get("weight_map") if isinstance(index, dict) else None
    return set(map(str, weight_map.values())) if isinstance(weight_map, dict) else set()


def _config(folder: Path, path: str, model: ModelRow | None, seq_length: int | None) -> Iterator[Problem]:
    file = folder / "config.json"
    if not file.is_file():
        yield _problem("model_path.no_config", path=path[:200])
        return
    config = _read(file)
    if not isinstance(config, dict):
        yield _problem("model_path.bad_json", path=path[:200], file="config.json")
        return
    if model is not None:
        yield from _differences(config, model)
    yield from _too_long(config, model, seq_length)


def _read(file: Path) -> Any:
    """The JSON in a file; None if it is none."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return None


def _differences(config: dict[str, Any], model: ModelRow) -> Iterator[Problem]:
    """A warning for each value that is not the row's; most often the folder of another model."""
    expected: dict[str, Any] = {name: getattr(model, name) for name in SHAPES}
    found = {name: config.get(name) for name in SHAPES}
    expected["architecture"] = model.architecture or None
    architectures = config.get("architectures")
    found["architecture"] = architectures[0] if isinstance(architectures, list) and architectures else None
    for name, value in expected.items():
        if value is not None and found[name] is not None and found[name] != value:
            parameters: dict[str, Value] = {"name": name, "found": str(found[name])[:80], "expected": value}
            yield Problem(
                code="model_path.differs",
                field=PATH,
                severity="warning",
                parameters={**parameters, "model": model.name},
            )


def _too_long(config: dict[str, Any], model: ModelRow | None, seq_length: int | None) -> Iterator[Problem]:
    """The weights may allow less than the row of their name; a length beyond the row is found without them."""
    limit = config.get("max_position_embeddings")
    known = model.max_position_embeddings if model is not None else None
    if seq_length is None or not isinstance(limit, int) or seq_length <= limit or (known or seq_length) < seq_length:
        return
    yield Problem(
        code="seq_length.beyond_weights",
        field="train.seq_length",
        parameters={"seq_length": seq_length, "limit": limit},
        nearest={"train.seq_length": limit},
    )
