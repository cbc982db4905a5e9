"""What the check finds in a model's folder: broken files, foreign files, pickles, layers that are not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.catalog import load
from engine.planner import check
from engine.problem_texts import message
from engine.problems import LANGUAGES, Problem
from tests.engine.asked import native
from tests.model_folders import make_model, weights

CATALOG = load()
SHARD = "model-00001-of-00001.safetensors"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "rows.json").write_text(json.dumps([{"instruction": "a", "output": "b"}]))
    return make_model(tmp_path / "model")


def errors(model: Path, roots: list[Path] | None = None, **changes: Any) -> list[Problem]:
    asked = native(model_path=str(model), train__dataset__path=str(model.parent / "rows.json"), **changes)
    found = check(asked, CATALOG, files=True, roots=roots).problems
    for problem in found:
        for language in LANGUAGES:
            assert "?" not in message(problem, language)
    return [problem for problem in found if problem.severity == "error"]


def codes(model: Path, roots: list[Path] | None = None, **changes: Any) -> list[str]:
    return [problem.code for problem in errors(model, roots, **changes)]


def configured(model: Path, **changes: Any) -> Path:
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, **changes}))
    return model


def sharded(model: Path, name: str = SHARD) -> Path:
    """The same weights as the one shard of an index, which names it `name`."""
    (model / "model.safetensors").rename(model / SHARD)
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    return model


def test_a_whole_folder_is_not_complained_of(model: Path) -> None:
    assert codes(model) == []
    assert codes(sharded(model)) == []


def test_a_configuration_that_says_nothing_is_refused(model: Path) -> None:
    (model / "config.json").write_text("{}")
    assert codes(model) == ["model_path.no_model_type"]


@pytest.mark.parametrize("name", ["num_hidden_layers", "hidden_size", "vocab_size", "max_position_embeddings"])
@pytest.mark.parametrize("value", [-1, 0, "30", 1.5, True, {}, []])
def test_a_number_of_a_configuration_must_be_one(model: Path, name: str, value: Any) -> None:
    (problem,) = errors(configured(model, **{name: value}))
    assert (problem.code, problem.parameters["name"]) == ("model_path.bad_number", name)


def test_odd_values_elsewhere_in_a_configuration_do_no_harm(model: Path) -> None:
    assert codes(configured(model, architectures=5, num_hidden_layers=None, intermediate_size=[1, 2])) == []


@pytest.mark.parametrize("content", ["{}", "[]", "", '{"model": 3}'])
def test_a_tokenizer_must_be_one(model: Path, content: str) -> None:
    (model / "tokenizer.json").write_text(content)
    assert codes(model) == ["model_path.bad_tokenizer"]


GOOD = weights()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (GOOD[:-1], "model_path.truncated"),
        (GOOD + b"x", "model_path.truncated"),
        (GOOD[:30], "model_path.truncated"),
        (GOOD[:7], "model_path.no_header"),
        (b"", "model_path.no_header"),
        (b"<html>no such model</html>", "model_path.no_header"),
        (b"\x02" + bytes(7) + b"{}", "model_path.no_header"),
        (b"\x02" + bytes(7) + b"[]", "model_path.no_header"),
        (GOOD.replace(b"[8, 4]", b"[9, 4]"), "model_path.bad_tensor"),
        (GOOD.replace(b'"shape"', b'"shapf"'), "model_path.bad_tensor"),
        (GOOD.replace(b"[0, 128]", b"[-1,128]"), "model_path.bad_tensor"),
    ],
)
@pytest.mark.parametrize("with_index", [False, True])
def test_a_file_of_weights_must_be_whole(model: Path, content: bytes, code: str, with_index: bool) -> None:
    (model / "model.safetensors").write_bytes(content)
    assert codes(sharded(model) if with_index else model) == [code]


def test_pickles_are_refused(model: Path) -> None:
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    assert codes(model) == ["model_path.pickled"]


def test_a_model_that_needs_its_own_code_is_refused_by_native(model: Path) -> None:
    configured(model, model_type="qwen", auto_map={"AutoModelForCausalLM": "modeling_qwen.QWenLMHeadModel"})
    assert codes(model) == ["model_path.own_code"]
    configured(model, model_type="llama")
    assert codes(model) == []


def test_an_adapter_is_no_model(model: Path) -> None:
    (model / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "/etc"}))
    assert codes(model) == ["model_path.adapter"]


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"])
def test_a_link_that_leads_out_of_the_roots_is_refused(model: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes((model / name).read_bytes() if (model / name).exists() else b"x")
    (model / name).unlink(missing_ok=True)
    (model / name).symlink_to(outside)
    allowed = [model, tmp_path / "rows.json"]
    assert codes(model, allowed) == ["path.outside"]
    assert codes(model, [tmp_path]) == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "../rows.json"])
def test_a_shard_outside_of_the_folder_is_refused(model: Path, name: str) -> None:
    assert codes(sharded(model, name)) == ["model_path.shard_elsewhere"]


def test_a_layer_that_the_model_has_not_is_refused_with_those_that_it_has(model: Path) -> None:
    lora = {"target_modules": ["q_proj", "nope"]}
    (problem,) = errors(model, train__strategy="lora", train__lora=lora)
    assert (problem.code, problem.field) == ("lora.no_such_layer", "train.lora.target_modules")
    assert problem.parameters == {"layer": "nope", "known": "q_proj, up_proj"}
    assert codes(model, train__strategy="lora", train__lora={"target_modules": ["self_attn.q_proj"]}) == []
    assert codes(model, train__strategy="lora", train__lora={"target_modules": ["embed_tokens"]}) == [problem.code]
    assert codes(model, train__strategy="full", train__lora=lora) == []


def test_a_changed_file_is_looked_at_again(model: Path) -> None:
    assert codes(model) == []
    (model / "model.safetensors").write_bytes(GOOD[:-4])
    assert codes(model) == ["model_path.truncated"]
