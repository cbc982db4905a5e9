"""A broken model folder is a clean problem, never an unforeseen error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.failures import Failure
from engine.weights.load import load_model, load_tokenizer


@pytest.fixture
def model(tmp_path: Path, tiny_model: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def refused(load: Any, model: Path) -> str:
    with pytest.raises(Failure) as failure:
        load(model)
    return failure.value.problem.code


@pytest.mark.parametrize("cut", [0, 5, 100, -1])
def test_weights_that_are_cut_off(model: Path, cut: int) -> None:
    file = model / "model.safetensors"
    file.write_bytes(file.read_bytes()[:cut])
    assert refused(load_model, model) == "weights.unreadable"


@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": "two"},
        {"hidden_size": -64},
        {"num_attention_heads": 0},
        {"vocab_size": "x"},
        {"model_type": "no_such_model"},
        {"model_type": 3},
        {"rope_parameters": 5},
    ],
)
def test_a_configuration_that_is_wrong(model: Path, changes: dict[str, Any]) -> None:
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, **changes}))
    assert refused(load_model, model) == "weights.unreadable"


def test_an_empty_configuration(model: Path) -> None:
    (model / "config.json").write_text("{}")
    assert refused(load_model, model) == "weights.unreadable"


def test_pickles_are_not_opened(model: Path) -> None:
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch opened'\ntR.")
    assert refused(load_model, model) == "weights.unreadable"


def test_parameters_that_are_not_there_are_not_made_up(model: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "num_hidden_layers": config["num_hidden_layers"] + 1}))
    assert refused(load_model, model) == "weights.incomplete"


@pytest.mark.parametrize("content", ["{}", "[]", '{"model": {}}', "{", ""])
def test_a_tokenizer_that_is_none(model: Path, content: str) -> None:
    (model / "tokenizer.json").write_text(content)
    assert refused(load_tokenizer, model) == "weights.no_tokenizer"
