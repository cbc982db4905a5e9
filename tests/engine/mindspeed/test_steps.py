"""The small steps between upstream's programs, each as a function on a run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.catalog import load
from engine.events import Emitter
from engine.failures import Failure
from engine.frameworks.mindspeed_llm.idx import Unreadable, counts
from engine.frameworks.mindspeed_llm.stages import stages
from engine.frameworks.mindspeed_llm.steps import exported, kept, model, original, rows, start, trained
from engine.plan import Batch, Layout
from engine.preparation import Dropped
from engine.run_folder import newest_checkpoint
from engine.spec import JobSpec
from engine.stage_file import StageFile
from tests.engine.asked import request
from tests.engine.mindspeed import standin
from tests.model_folders import TENSORS, make_model, weights

LAYOUT = Layout(devices=2, tensor_parallel_size=2, data_parallel_size=1)
QUIET = Emitter(None)


def stage_file(tmp_path: Path, train_iters: int | None = 5, **changes: Any) -> StageFile:
    spec = JobSpec.model_validate(request(model_path=str(tmp_path / "model"), train__seq_length=64, **changes))
    batch = Batch(
        micro_batch_size=1, global_batch_size=4, gradient_accumulation_steps=4, train_iters=train_iters, epochs=1.5
    )
    made = StageFile(stage="train", run_dir=str(tmp_path / "run"), spec=spec, layout=LAYOUT, batch=batch)
    made.folder.create()
    return made


def code_of(caught: pytest.ExceptionInfo[Failure]) -> str:
    return caught.value.problem.code


def write(path: Path, *values: Any) -> str:
    path.write_text("\n".join(json.dumps(value, ensure_ascii=False) for value in values), encoding="utf-8")
    return str(path)


ALPACA = {"instruction": "问", "input": "更多", "output": "答", "system": "be kind"}
MOSS = {
    "chat": {"turn_1": {"Human": "<|Human|>: 问\n更多<eoh>", "MOSS": "<|MOSS|>: 答<eom>"}},
    "meta_instruction": "be kind",
}
SHAREGPT = {
    "conversations": [{"from": "human", "value": "问\n更多"}, {"from": "gpt", "value": "答"}],
    "system": "be kind",
}


@pytest.mark.parametrize(("form", "row"), [("alpaca", ALPACA), ("moss", MOSS), ("sharegpt", SHAREGPT)])
def test_every_format_becomes_the_same_conversations(tmp_path: Path, form: str, row: dict[str, Any]) -> None:
    path = write(tmp_path / "data.jsonl", row)
    made = stage_file(tmp_path, train__dataset__path=path, train__dataset__format=form)
    rows.main(made, QUIET)
    assert json.loads((made.folder.data / "rows.jsonl").read_text(encoding="utf-8")) == {
        "conversations": [
            {"from": "system", "value": "be kind"},
            {"from": "human", "value": "问\n更多"},
            {"from": "gpt", "value": "答"},
        ]
    }


def test_texts_stay_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonl", {"text": "one"}, {"text": "two"})
    made = stage_file(tmp_path, train__dataset__path=path, train__dataset__format="text", train__stage="pretrain")
    rows.main(made, QUIET)
    assert (made.folder.data / "rows.jsonl").read_text() == '{"text": "one"}\n{"text": "two"}\n'


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({**SHAREGPT, "tools": "[]"}, "mindspeed_llm.tools"),
        ({"conversations": list(reversed(SHAREGPT["conversations"]))}, "preprocess.broken_row"),
    ],
)
def test_a_row_that_upstream_would_drop_or_misread_is_refused(tmp_path: Path, row: dict[str, Any], code: str) -> None:
    path = write(tmp_path / "data.jsonl", row)
    made = stage_file(tmp_path, train__dataset__path=path, train__dataset__format="sharegpt")
    with pytest.raises(Failure) as caught:
        rows.main(made, QUIET)
    assert code_of(caught) == code
    assert not (made.folder.data / "rows.jsonl").exists()


def test_an_index_is_read_as_megatron_writes_it(tmp_path: Path) -> None:
    standin.write_dataset(tmp_path / "x", [3, 5, 0, 9])
    found = counts(tmp_path / "x.idx")
    assert (found.sequences, found.tokens, found.longest) == (4, 17, 9)


@pytest.mark.parametrize("damage", [lambda data: data[:20], lambda data: b"X" + data[1:], lambda data: data[:-70]])
def test_a_broken_index_is_told_from_a_whole_one(tmp_path: Path, damage: Any) -> None:
    standin.write_dataset(tmp_path / "x", [3, 5, 0, 9])
    index = tmp_path / "x.idx"
    index.write_bytes(damage(index.read_bytes()))
    with pytest.raises(Unreadable):
        counts(index)


def kept_of(tmp_path: Path, lengths: list[int], read: int, **changes: Any) -> StageFile:
    made = stage_file(tmp_path, **changes)
    pretrain = made.spec.train.stage == "pretrain"
    name = "train_text_document" if pretrain else "train_packed_input_ids_document"
    standin.write_dataset(made.folder.data / name, lengths)
    (made.folder.data / "rows.jsonl").write_text("{}\n" * read)
    told = {"rows_read": read + 1, "rows_kept": read, **Dropped({"json.syntax": {"rows": 1, "examples": []}}).to_json()}
    (made.folder.data / "rows.json").write_text(json.dumps(told))
    kept.main(made, Emitter(tmp_path / "emitted.jsonl"))
    return made


def test_rows_that_upstream_has_dropped_are_counted_and_told(tmp_path: Path) -> None:
    made = kept_of(tmp_path, [10, 20], read=3)
    report = json.loads((made.folder.data / "report.json").read_text())
    assert (report["rows_read"], report["rows_kept"], report["samples"]) == (4, 2, 2)
    assert {one["reason"]: one["rows"] for one in report["rows_dropped"]} == {"json.syntax": 1, kept.TOO_LONG: 1}
    told = json.loads((tmp_path / "emitted.jsonl").read_text())["data"]["problem"]
    assert (told["code"], told["parameters"]["dropped"]) == ("mindspeed_llm.rows_dropped", 1)


def test_nothing_left_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(Failure) as caught:
        kept_of(tmp_path, [], read=3)
    assert code_of(caught) == "preprocess.no_samples"


def test_samples_of_pretraining_are_counted_as_megatron_cuts_them(tmp_path: Path) -> None:
    changes = {"train__stage": "pretrain", "train__dataset__format": "text"}
    made = kept_of(tmp_path, [64, 65], read=2, **changes)  # 129 tokens: two samples of 64 and one token more
    assert json.loads((made.folder.data / "report.json").read_text())["samples"] == 2


@pytest.mark.parametrize(("samples", "epochs"), [(1, 1.0), (7, 1.5), (8, 1.5), (100, 0.01), (40, 3.0)])
def test_iterations_see_every_sample_as_often_as_asked(tmp_path: Path, samples: int, epochs: float) -> None:
    made = stage_file(tmp_path, train_iters=None)
    made = made.model_copy(update={"batch": made.batch.model_copy(update={"epochs": epochs})})
    (made.folder.data / "report.json").write_text(json.dumps({"samples": samples}))
    count = start.train_iters(made)
    assert (count - 1) * 4 < samples * epochs <= count * 4 or (count == 1 and samples * epochs <= 4)
    assert start.added(made) == ["--train-iters", str(count)]


def test_the_runs_own_checkpoint_comes_before_the_one_that_is_named(tmp_path: Path) -> None:
    named = tmp_path / "earlier"
    standin.save(named, 3, LAYOUT)
    made = stage_file(tmp_path, train__resume__checkpoint_path=str(named))
    assert start.added(made) == ["--load", str(named)]
    standin.save(made.folder.checkpoints, 4, LAYOUT)
    assert start.added(made) == ["--load", str(made.folder.checkpoints)]


def test_a_named_checkpoint_one_level_too_deep_or_too_high_is_not_random_weights(tmp_path: Path) -> None:
    named = tmp_path / "earlier"
    standin.save(named, 3, LAYOUT)
    deep = stage_file(tmp_path, train__resume__checkpoint_path=str(named / "iter_0000003"))
    assert start.added(deep) == ["--load", str(named)]
    with pytest.raises(Failure) as caught:
        start.added(stage_file(tmp_path, train__resume__checkpoint_path=str(tmp_path)))
    assert code_of(caught) == "resume.no_latest"


@pytest.mark.parametrize("other", [standin.layout_of(1, 1), standin.layout_of(4, 1), standin.layout_of(2, 2)])
def test_a_named_checkpoint_that_is_cut_otherwise_is_refused(tmp_path: Path, other: Layout) -> None:
    standin.save(tmp_path / "earlier", 3, other)
    with pytest.raises(Failure) as caught:
        start.added(stage_file(tmp_path, train__resume__checkpoint_path=str(tmp_path / "earlier")))
    assert code_of(caught) == "mindspeed_llm.other_layout"


def test_a_training_has_trained_when_its_last_checkpoint_is_whole(tmp_path: Path) -> None:
    made = stage_file(tmp_path)
    standin.save(made.folder.checkpoints, 5, LAYOUT)
    trained.main(made, QUIET)
    (made.folder.checkpoints / "iter_0000005" / "mp_rank_01" / "model_optim_rng.pt").write_bytes(b"")
    with pytest.raises(Failure) as caught:
        trained.main(made, QUIET)
    assert code_of(caught) == "mindspeed_llm.checkpoint_incomplete"


@pytest.mark.parametrize("last", [None, 4])
def test_a_training_that_ended_early_has_not_trained(tmp_path: Path, last: int | None) -> None:
    made = stage_file(tmp_path)
    if last is not None:
        standin.save(made.folder.checkpoints, last, LAYOUT)
    with pytest.raises(Failure) as caught:
        trained.main(made, QUIET)
    assert code_of(caught) == "mindspeed_llm.not_trained"


def test_random_weights_are_seen_in_the_log(tmp_path: Path) -> None:
    made = stage_file(tmp_path)
    standin.save(made.folder.checkpoints, 5, LAYOUT)
    made.folder.log("train").write_text("    will not load any checkpoints and will start from random\n")
    with pytest.raises(Failure) as caught:
        trained.main(made, QUIET)
    assert code_of(caught) == "mindspeed_llm.random_weights"


def checked(tmp_path: Path, name: str, config: dict[str, Any]) -> None:
    make_model(tmp_path / "model", **config)
    made = stage_file(tmp_path, model=name)
    planned = stages(made.spec, LAYOUT, made.batch, load().architectures[name])
    path = made.folder.path / "config" / "model.json"
    path.parent.mkdir()
    path.write_text(planned[1].files["config/model.json"])
    model.main(made, QUIET)


LLAMA = {
    "num_hidden_layers": 16,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "tie_word_embeddings": True,
}
GLM = {
    "num_layers": 40,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "multi_query_group_num": 2,
    "padded_vocab_size": 151552,
    "layernorm_epsilon": 1.5625e-07,
    "rope_ratio": 500,
    "tie_word_embeddings": False,
}


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("llama3.2-1b", LLAMA),
        ("llama3.2-1b", {**LLAMA, "rope_theta": 1.0, "rope_parameters": {"rope_theta": 500000.0}}),
        ("glm4-9b", GLM),
    ],
)
def test_the_config_of_the_right_model_agrees(tmp_path: Path, name: str, config: dict[str, Any]) -> None:
    checked(tmp_path, name, config)


@pytest.mark.parametrize(
    ("name", "config", "changed"),
    [
        ("llama3.2-1b", LLAMA, {"rope_theta": 10000.0}),
        ("llama3.2-1b", LLAMA, {"rms_norm_eps": 1e-6}),
        ("llama3.2-1b", LLAMA, {"num_key_value_heads": 32}),
        ("llama3.2-1b", LLAMA, {"tie_word_embeddings": False}),
        ("glm4-9b", GLM, {"rope_ratio": 1}),
    ],
)
def test_one_number_of_another_model_is_enough_to_refuse(
    tmp_path: Path, name: str, config: dict[str, Any], changed: dict[str, Any]
) -> None:
    with pytest.raises(Failure) as caught:
        checked(tmp_path, name, {**config, **changed})
    assert code_of(caught) == "mindspeed_llm.other_model"


def test_quantized_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure) as caught:
        checked(tmp_path, "llama3.2-1b", {**LLAMA, "quantization_config": {"quant_method": "fp8"}})
    assert code_of(caught) == "mindspeed_llm.quantized"


def exported_of(tmp_path: Path, tensors: dict[str, tuple[int, ...]], place: str = "original/mg2hf") -> StageFile:
    source = make_model(tmp_path / "model", num_hidden_layers=1)
    (source / "tokenizer_config.json").write_text("{}")
    made = stage_file(tmp_path)
    original.main(made, QUIET)
    target = made.folder.output / place
    target.mkdir(parents=True)
    (target / "config.json").write_text("{}")
    (target / "model.safetensors").write_bytes(weights(tensors))
    exported.main(made, QUIET)
    return made


@pytest.mark.parametrize("place", ["original/mg2hf", "converted"])
def test_the_converted_model_gets_its_tokenizer_and_leaves_the_original_alone(tmp_path: Path, place: str) -> None:
    before = {path.name: path.read_bytes() for path in make_model(tmp_path / "other").iterdir()}
    made = exported_of(tmp_path, TENSORS, place)
    model_folder = made.folder.output / "model"
    assert {path.name for path in model_folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert not any(path.is_symlink() for path in model_folder.iterdir())
    report = json.loads((made.folder.output / "report.json").read_text())
    assert report == {"files_copied": ["tokenizer.json", "tokenizer_config.json"], "weights_compared": len(TENSORS)}
    left = {path.name for path in (tmp_path / "model").iterdir()}
    assert left == set(before) | {"tokenizer_config.json"}


@pytest.mark.parametrize(
    "tensors",
    [
        {name: shape for name, shape in TENSORS.items() if "q_proj" not in name},
        {**TENSORS, "model.layers.0.mlp.up_proj.weight": (2, 8)},
        {name: shape for name, shape in TENSORS.items() if "layers" not in name},
    ],
)
def test_a_weight_that_is_lost_or_reshaped_is_a_failure(tmp_path: Path, tensors: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(Failure) as caught:
        exported_of(tmp_path, tensors)
    assert code_of(caught) == "mindspeed_llm.other_weights"


def test_a_converter_that_left_nothing_is_a_failure(tmp_path: Path) -> None:
    make_model(tmp_path / "model")
    with pytest.raises(Failure) as caught:
        exported.main(stage_file(tmp_path), QUIET)
    assert code_of(caught) == "mindspeed_llm.no_model"


def test_the_checkpoint_that_megatrons_tracker_names_is_the_newest(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) is None
    standin.save(tmp_path, 3, LAYOUT)
    (tmp_path / "iter_0000007" / "mp_rank_00").mkdir(parents=True)  # still being written
    assert newest_checkpoint(tmp_path) == (3, tmp_path / "iter_0000003")
