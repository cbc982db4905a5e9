"""The model's folder: configuration, tokenizer, weights, and whether they are what the model row says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.catalog import Catalog, ModelRow
from engine.failures import Failure
from engine.frameworks.llama_factory.templates import TEMPLATES
from engine.layer_names import linear_layers, matches
from engine.model_folder import INDEX, PATH, WEIGHTS, guarded, read_json_object, shards, weight_files
from engine.planner.files import identity
from engine.problems import Problem, Value
from engine.roots import Roots, resolved
from engine.safetensors_header import Shapes, Unreadable, shapes

TOKENIZERS = (("tokenizer.json",), ("tokenizer.model",), ("vocab.json", "merges.txt"))
SHAPES = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size", "max_position_embeddings")
NUMBERS = (*SHAPES, "hidden_size", "intermediate_size")


@dataclass(frozen=True)
class Wanted:
    """What a request says about the model; None where its field is wrong."""

    catalog: Catalog
    """The models that a folder may hold instead."""
    model: ModelRow | None
    seq_length: int | None
    own_code: frozenset[str] | None
    """Model types that transformers knows itself; None where the framework may run a model's own code."""
    layers: tuple[str, ...] = ()
    """Names of the layers that are to get adapters."""
    template: str = ""
    """The chat template of LLaMA-Factory; empty for other frameworks."""


def problems(path: str, wanted: Wanted, roots: Roots) -> Iterator[Problem]:
    """What is wrong with a model's folder."""
    try:
        folder = resolved(path, PATH, roots)
        if not folder.is_dir():
            code = "model_path.not_a_folder" if folder.exists() else "model_path.missing"
            yield _problem(code, path=path[:200])
            return
        guarded(path, roots)
        yield from _tokenizer(folder, path)
        yield from _template(folder, path, wanted.template)
        yield from _weights(folder, path, wanted)
        yield from _config(folder, path, wanted)
    except Failure as failure:
        yield failure.problem
    except OSError as error:
        yield _problem("model_path.unreadable", path=path[:200], error=error.strerror or type(error).__name__)


def _problem(code: str, **parameters: Value) -> Problem:
    return Problem(code=code, field=PATH, parameters=parameters)


def _tokenizer(folder: Path, path: str) -> Iterator[Problem]:
    if not any(all((folder / name).is_file() for name in names) for names in TOKENIZERS):
        yield _problem("model_path.no_tokenizer", path=path[:200])
    elif (folder / "tokenizer.json").is_file() and not _is_tokenizer(*_state(folder / "tokenizer.json")):
        yield _problem("model_path.bad_tokenizer", path=path[:200])


@lru_cache(maxsize=64)
def _is_tokenizer(path: str, _changed: int, _size: int) -> bool:
    """Whether a file can be what the library tokenizers writes."""
    found = read_json_object(Path(path))
    return found is not None and isinstance(found.get("model"), dict)


def _template(folder: Path, path: str, template: str) -> Iterator[Problem]:
    """A token that the template ends an answer with, and the tokenizer has not, would lie beyond the vocabulary."""
    token, file = TEMPLATES.get(template, ""), folder / "tokenizer.json"
    if token and file.is_file() and token not in _ends(*_state(file)):
        parameters: dict[str, Value] = {"path": path[:200], "template": template, "token": token}
        yield Problem(code="model_path.other_template", field=PATH, severity="warning", parameters=parameters)


@lru_cache(maxsize=64)
def _ends(path: str, _changed: int, _size: int) -> frozenset[str]:
    """Which of the templates' tokens a tokenizer has; of what is no tokenizer something else is said."""
    found, every = read_json_object(Path(path)) or {}, frozenset(TEMPLATES.values())
    model, added = found.get("model"), found.get("added_tokens")
    if not isinstance(model, dict) or not isinstance(added, list):
        return every
    vocabulary = model.get("vocab")
    named = {token.get("content") for token in added if isinstance(token, dict)}
    known = vocabulary if isinstance(vocabulary, dict) else {}
    return frozenset(token for token in every if token in named or token in known)


def _state(file: Path) -> tuple[str, int, int]:
    """Key of a cache: a file that has changed is read again."""
    facts = file.stat()
    return str(file), facts.st_mtime_ns, facts.st_size


def _weights(folder: Path, path: str, wanted: Wanted) -> Iterator[Problem]:
    """Every file of weights must be there and whole."""
    indexed = (folder / INDEX).is_file() and not (folder / WEIGHTS).is_file()
    missing = [file.name for file in weight_files(folder) if not file.is_file()]
    if indexed and not shards(folder):
        yield _problem("model_path.bad_json", path=path[:200], file=INDEX)
    elif missing:
        yield _problem("model_path.missing_shard", path=path[:200], file=missing[0], count=len(missing))
    elif not weight_files(folder):
        pickled = any(folder.glob("*.bin")) or any(folder.glob("*.pt*"))
        yield _problem("model_path.pickled" if pickled else "model_path.no_weights", path=path[:200])
    else:
        yield from _tensors(folder, path, wanted)


def _tensors(folder: Path, path: str, wanted: Wanted) -> Iterator[Problem]:
    found: Shapes = {}
    for file in weight_files(folder):
        try:
            found |= _header(*_state(file))
        except Unreadable as unreadable:
            yield _problem(f"model_path.{unreadable}", path=path[:200], file=file.name[:200])
            return
    known = linear_layers(found)
    for name in wanted.layers:
        if not any(matches(layer, name) for layer in known):
            parameters: dict[str, Value] = {
                "layer": name,
                "known": ", ".join(sorted({layer.rpartition(".")[2] for layer in known})),
            }
            yield Problem(code="lora.no_such_layer", field="train.lora.target_modules", parameters=parameters)


@lru_cache(maxsize=256)
def _header(path: str, _changed: int, _size: int) -> Shapes:
    return shapes(Path(path))


def _config(folder: Path, path: str, wanted: Wanted) -> Iterator[Problem]:
    file = folder / "config.json"
    if not file.is_file():
        yield _problem("model_path.no_config", path=path[:200])
        return
    config = read_json_object(file)
    if config is None:
        yield _problem("model_path.bad_json", path=path[:200], file="config.json")
        return
    wrong = [name for name in NUMBERS if not _is_count(config.get(name))]
    if not isinstance(config.get("model_type"), str):
        yield _problem("model_path.no_model_type", path=path[:200])
    for name in wrong:
        yield _problem("model_path.bad_number", path=path[:200], name=name, found=str(config[name])[:80])
    yield from _own_code(config, path, wanted)
    if wanted.model is not None:
        right = {name: value for name, value in config.items() if name not in wrong}
        yield from identity.problems(right, wanted.model, wanted.catalog, path)
    if "max_position_embeddings" not in wrong:
        yield from _too_long(config, wanted.model, wanted.seq_length)


def _is_count(value: Any) -> bool:
    """A number of layers, heads and the like; some models give one for each layer, and some leave it out."""
    return value is None or (type(value) is int and value > 0) or (isinstance(value, list) and bool(value))


def _own_code(config: dict[str, Any], path: str, wanted: Wanted) -> Iterator[Problem]:
    kind = config.get("model_type")
    if wanted.own_code is not None and config.get("auto_map") and kind not in wanted.own_code:
        yield _problem("model_path.own_code", path=path[:200], model_type=str(kind)[:80])


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
