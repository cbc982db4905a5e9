"""Checks that look at the disk: datasets with their broken lines, folders of models with what they lack."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.catalog import load
from engine.planner import Verdict, check
from engine.planner.files import dataset
from engine.planner.files.identity import DIMENSIONS
from engine.problems import Problem
from tests.engine.asked import native
from tests.model_folders import make_model

CATALOG = load()
ROW = {"instruction": "a", "input": "", "output": "b"}
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "model", **CONFIG)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([ROW, ROW]))
    return path


def ask(model: Path, data: Path | str, roots: list[Path] | None = None, **changes: Any) -> Verdict:
    asked = native(model_path=str(model), train__dataset__path=str(data), **changes)
    return check(asked, CATALOG, files=True, roots=roots)


def only(verdict: Verdict) -> Problem:
    """The one finding beside the note that native has no table."""
    (problem,) = [problem for problem in verdict.problems if problem.severity != "note"]
    return problem


def test_good_files_fit(model: Path, data: Path, tmp_path: Path) -> None:
    assert ask(model, data, [tmp_path]).fits


def test_files_are_not_looked_at_unless_asked() -> None:
    assert check(native(), CATALOG).fits


def test_a_broken_row_is_refused_with_its_line(model: Path, data: Path) -> None:
    data.write_text("[\n" + json.dumps(ROW) + ",\n" + json.dumps({"instruction": "a"}) + "\n]")
    problem = only(ask(model, data))
    assert (problem.code, problem.field) == ("dataset.broken_rows", "train.dataset.path")
    assert (problem.parameters["line"], problem.parameters["why"]) == (3, "row.missing_key")
    shown = ask(model, data).to_json("en")["problems"][-1]["message"]
    assert "line 3: The key output is missing." in shown


def test_leaving_rows_out_is_offered_only_where_rows_are_left(model: Path, data: Path) -> None:
    data.write_text("\n".join([json.dumps(ROW), "{"]))
    assert ask(model, data).nearest == ({"train.dataset.broken_rows": "leave_out"},)
    data.write_bytes(json.dumps(ROW | {"output": "北京是中国的首都。"}, ensure_ascii=False).encode("gbk"))
    refused = ask(model, data)
    assert (only(refused).code, refused.nearest) == ("dataset.none_usable", ())


def test_many_broken_rows_are_counted_and_the_first_twenty_named(model: Path, data: Path) -> None:
    data.write_text("\n".join([json.dumps(ROW), *["{"] * 30]))
    problem = only(ask(model, data))
    assert (problem.parameters["count"], problem.parameters["rows"]) == (30, 31)
    assert problem.parameters["lines"] == ", ".join(map(str, range(2, 22))) + " …"


def test_a_wrong_format_names_the_format_it_looks_like(model: Path, data: Path) -> None:
    data.write_text(json.dumps([{"conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}]}]))
    verdict = ask(model, data)
    problem = only(verdict)
    assert (problem.code, problem.field) == ("dataset.other_format", "train.dataset.format")
    assert verdict.nearest == ({"train.dataset.format": "sharegpt"},)


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "dataset.empty"), (b"[]", "dataset.no_rows"), (b" \n", "dataset.no_rows"), (b"\xff", "dataset.none_usable")],
)
def test_a_file_without_rows_is_refused(model: Path, data: Path, content: bytes, code: str) -> None:
    data.write_bytes(content)
    assert only(ask(model, data)).code == code


def test_a_missing_file_and_a_folder_without_data_are_refused(model: Path, data: Path) -> None:
    assert only(ask(model, data.with_name("none.json"))).code == "dataset.missing"
    assert only(ask(model, data.parent / "model")).code == "dataset.model_folder"
    (data.parent / "empty").mkdir()
    assert only(ask(model, data.parent / "empty")).code == "dataset.no_files"
    assert only(ask(model, "x" * 4096)).code in ("dataset.unreadable", "path.unusable")


def test_a_path_outside_the_roots_is_refused_even_through_a_link(model: Path, data: Path, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.json").symlink_to(data)
    for path in (data, inside / "link.json", inside / ".." / "rows.json"):
        problem = next(p for p in ask(model, path, [inside]).problems if p.field == "train.dataset.path")
        assert problem.code == "path.outside"


def test_nothing_is_told_about_what_lies_outside(model: Path, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    there, not_there = (
        next(p for p in ask(model, path, [inside]).problems if p.field == "train.dataset.path")
        for path in ("/etc/passwd", "/etc/no-such-file")
    )
    assert there.code == not_there.code == "path.outside"


def test_empty_answers_are_a_warning(model: Path, data: Path) -> None:
    data.write_text(json.dumps(ROW) + "\n" + json.dumps({**ROW, "output": ""}))
    verdict = ask(model, data)
    assert verdict.fits
    assert only(verdict).code == "dataset.empty_answers"
    assert only(verdict).parameters["line"] == 2


def test_a_very_large_file_is_checked_in_part_and_says_so(
    model: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "MOST", 500)
    data.write_text("\n".join([json.dumps(ROW)] * 100))
    verdict = ask(model, data)
    assert verdict.fits
    problem = next(p for p in verdict.problems if p.code == "dataset.partly")
    assert 1 < int(problem.parameters["rows"] or 0) < 100


def test_a_file_is_read_once_until_it_changes(model: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[Path] = []
    real = dataset.scan

    def counting(path: Path, choice: str) -> dataset.Scan:
        scans.append(path)
        return real(path, choice)

    monkeypatch.setattr(dataset, "scan", counting)
    assert ask(model, data).fits
    assert ask(model, data).fits
    assert len(scans) == 1
    data.write_text("[]")
    os.utime(data, ns=(1, 1))
    assert not ask(model, data).fits
    assert len(scans) == 2


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("config.json", "model_path.no_config"),
        ("tokenizer.json", "model_path.no_tokenizer"),
        ("model.safetensors", "model_path.no_weights"),
    ],
)
def test_a_model_folder_that_lacks_something_is_refused(model: Path, data: Path, name: str, code: str) -> None:
    (model / name).unlink()
    problem = only(ask(model, data))
    assert (problem.code, problem.field) == (code, "model_path")


def test_a_folder_that_is_missing_or_a_file_is_refused(model: Path, data: Path) -> None:
    assert only(ask(model / "none", data)).code == "model_path.missing"
    assert only(ask(data, data)).code == "model_path.not_a_folder"


def test_a_shard_that_the_index_names_must_be_there(model: Path, data: Path) -> None:
    (model / "model.safetensors").rename(model / "model-00001-of-00002.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    assert only(ask(model, data)).parameters["file"] == "model-00002-of-00002.safetensors"


@pytest.mark.parametrize("content", ["{", "[]", "3", "null", "[" * 100_000])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_a_file_that_is_no_json_object_is_refused(model: Path, data: Path, name: str, content: str) -> None:
    (model / name).write_text(content)
    if name != "config.json":
        (model / "model.safetensors").unlink()
    assert only(ask(model, data)).code == "model_path.bad_json"


@pytest.mark.parametrize(
    ("key", "value"), [("architectures", ["Qwen2ForCausalLM"]), ("max_position_embeddings", 16384)]
)
def test_what_a_variant_of_the_chosen_model_may_change_is_a_warning(
    model: Path, data: Path, key: str, value: Any
) -> None:
    (model / "config.json").write_text(json.dumps({**CONFIG, key: value}))
    verdict = ask(model, data)
    assert verdict.fits
    assert only(verdict).code == "model_path.differs"


@pytest.mark.parametrize(("key", "value"), [("num_hidden_layers", 12), ("vocab_size", 9999), ("hidden_size", 640)])
def test_dimensions_of_no_known_model_are_one_error(model: Path, data: Path, key: str, value: int) -> None:
    (model / "config.json").write_text(json.dumps({**CONFIG, key: value, "num_key_value_heads": 5}))
    problem = only(ask(model, data))
    assert (problem.code, problem.severity) == ("model_path.unlike", "error")
    for part in (f"{key} {value} (", "num_key_value_heads 5 (3)"):
        assert part in str(problem.parameters["differences"])


def config_of(name: str) -> dict[str, Any]:
    """As the folder of a model of the tables has it; the first Qwen prints twice the intermediate size."""
    shape = CATALOG.architectures[name]
    dimensions = {key: getattr(shape, key) for key in DIMENSIONS}
    if shape.model_type == "qwen":
        dimensions["intermediate_size"] *= 2
    return {"model_type": shape.model_type, **dimensions}


@pytest.mark.parametrize("name", [name for name in CATALOG.architectures if name != "smollm2-135m"])
def test_weights_of_another_model_of_the_tables_are_one_error_that_names_it(model: Path, data: Path, name: str) -> None:
    (model / "config.json").write_text(json.dumps(config_of(name)))
    wrong = [problem for problem in ask(model, data).problems if problem.severity == "error"]
    (problem,) = [one for one in wrong if one.code != "model_path.own_code"]
    assert problem.code == "model_path.other_model"
    assert CATALOG.architectures[str(problem.nearest["model"])].hidden_size == CATALOG.architectures[name].hidden_size
    assert name in str(problem.parameters["found"]) or str(problem.parameters["found"]).count(",") == 2


def test_models_of_equal_dimensions_are_all_named(model: Path, data: Path) -> None:
    (model / "config.json").write_text(json.dumps(config_of("llama3.1-8b")))
    assert only(ask(model, data)).parameters["found"] == "llama3-8b, llama3.1-8b"


def test_a_variant_with_words_added_passes(model: Path, data: Path) -> None:
    (model / "config.json").write_text(json.dumps({**config_of("smollm2-135m"), "vocab_size": 49152 + 64}))
    assert ask(model, data).fits


def test_dimensions_may_be_in_a_part_of_the_configuration(model: Path, data: Path) -> None:
    vision = {"model_type": "qwen2_5_vl", "text_config": config_of("llama3.1-8b")}
    (model / "config.json").write_text(json.dumps(vision))
    assert "llama3.1-8b" in str(only(ask(model, data)).parameters["found"])


def test_the_weights_may_allow_less_than_the_row(model: Path, data: Path) -> None:
    (model / "config.json").write_text(json.dumps({**CONFIG, "max_position_embeddings": 256}))
    verdict = ask(model, data)
    problem = next(p for p in verdict.problems if p.severity == "error")
    assert (problem.code, problem.field) == ("seq_length.beyond_weights", "train.seq_length")
    assert verdict.nearest == ({"train.seq_length": 256},)


def test_files_are_checked_in_a_request_of_a_wrong_shape_too(data: Path, model: Path) -> None:
    data.write_text("[]")
    codes = {p.code for p in ask(model, data, devices="x").problems}
    assert {"shape.not_integer", "dataset.no_rows"} <= codes
