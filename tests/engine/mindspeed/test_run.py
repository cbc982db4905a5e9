"""The plan is started for real by the runner, in a stand-in checkout. No NPU and no MindSpeed-LLM are needed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import events as names
from engine.catalog import load
from engine.frameworks.mindspeed_llm.stages import stages
from engine.plan import Batch, Layout, Plan
from engine.run_folder import RunFolder, read_json
from engine.runner import Result, prepare, run
from engine.spec import JobSpec
from tests.engine.asked import request
from tests.engine.mindspeed import standin
from tests.made_runs import events, facts, iterations
from tests.model_folders import make_model

MODEL = "llama3.2-1b"
LAYOUT = Layout(devices=2, tensor_parallel_size=2, data_parallel_size=1)
Maker = Callable[..., RunFolder]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    def make(mode: str = "", torchrun: bool = False, only: str = "", **changes: Any) -> RunFolder:
        home = standin.make(tmp_path / "checkout", mode)
        monkeypatch.setenv("TRAINYARD_MINDSPEED_LLM_HOME", str(home))
        python = sys.executable if torchrun else standin.make_python(tmp_path / "python")
        monkeypatch.setenv("TRAINYARD_MINDSPEED_LLM_PYTHON", str(python))
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        spec = JobSpec.model_validate(_asked(tmp_path, changes))
        iters = spec.train.train_iters
        batch = Batch(
            micro_batch_size=1,
            global_batch_size=4,
            gradient_accumulation_steps=4,
            train_iters=iters,
            epochs=None if iters else spec.train.epochs,
        )
        planned = stages(spec, LAYOUT, batch, load().architectures[MODEL])
        folder = RunFolder(tmp_path / "run")
        if only:
            planned = tuple(stage for stage in planned if stage.name == only)
            _what_comes_before(folder, only, iters or 0)
        prepare(folder, spec, Plan(layout=LAYOUT, batch=batch, memory=None, eta=None, reasons=(), stages=planned))
        return folder

    return make


def _what_comes_before(folder: RunFolder, only: str, train_iters: int) -> None:
    """What the stages before a single one would have left."""
    folder.create()
    standin.write_dataset(folder.data / "train_packed_input_ids_document", [10] * 10)
    (folder.data / "report.json").write_text(json.dumps({"samples": 10}))
    standin.save(folder.weights, 1, LAYOUT)
    if only == "export":
        standin.save(folder.checkpoints, train_iters, LAYOUT)


def _asked(tmp_path: Path, changes: dict[str, Any]) -> dict[str, Any]:
    shape = load().architectures[MODEL]
    make_model(
        tmp_path / "model",
        num_hidden_layers=shape.num_hidden_layers,
        hidden_size=shape.hidden_size,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        vocab_size=shape.vocab_size,
        rms_norm_eps=1e-5,
        rope_theta=500000.0,
        tie_word_embeddings=True,
    )
    (tmp_path / "model" / "tokenizer_config.json").write_text("{}")
    rows = [{"instruction": f"say {number}", "input": "", "output": f"it is {number}"} for number in range(10)]
    rows.append({"instruction": "say much", "input": "", "output": "word " * 100})
    (tmp_path / "data.json").write_text(json.dumps(rows))
    usual: dict[str, Any] = {
        "model": MODEL,
        "model_path": str(tmp_path / "model"),
        "devices": 2,
        "train__dataset__path": str(tmp_path / "data.json"),
        "train__seq_length": 64,
        "train__global_batch_size": 4,
        "train__train_iters": 5,
        "train__save_interval": 2,
    }
    return request(**{**usual, **changes})


def problem_codes(folder: RunFolder) -> list[str]:
    return [data["problem"]["code"] for _, data in facts(folder, "problem")]


def started(folder: RunFolder) -> list[str]:
    """The stages in the order in which their commands were started."""
    return [event["stage"] for event in events(folder) if event["kind"] == "started" and event["stage"]]


def test_every_stage_runs_in_order_and_the_log_becomes_metrics(made: Maker) -> None:
    folder = made(torchrun=True)
    result = run(folder)
    assert (result.state, result.stage) == ("succeeded", "export"), folder.log(result.stage).read_text()
    assert list(dict.fromkeys(started(folder))) == ["preprocess", "convert", "train", "export"]
    assert iterations(folder) == [1, 2, 3, 4, 5]
    metric = facts(folder, "metric")[-1][1]
    assert (metric["total_iterations"], metric["consumed_samples"], metric[names.LM_LOSS]) == (5, 20, 2.0)
    assert metric[names.TOKENS_PER_SECOND] == 4 * 64 / 0.5 / 2
    report = read_json(folder.data / "report.json")
    assert (report["rows_read"], report["rows_kept"], report["samples"]) == (11, 10, 10)
    assert problem_codes(folder) == ["mindspeed_llm.rows_dropped"]
    model = folder.output / "model"
    assert sorted(path.name for path in model.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert read_json(folder.output / "report.json")["weights_compared"] == 4
    assert not (folder.output / "original").exists()


def test_lora_over_epochs_is_merged_from_its_own_checkpoint(made: Maker) -> None:
    folder = made(train__strategy="lora", train__train_iters=None, train__epochs=3)
    assert run(folder).state == "succeeded"
    assert iterations(folder) == list(range(1, 9))  # 3 x 10 samples in iterations of 4
    assert (folder.checkpoints / standin.LATEST).read_text() == "8"


@pytest.mark.parametrize(
    ("mode", "stage", "code", "word"),
    [
        ("silent", "train", "stage.failed", "not_trained"),
        ("random", "train", "stage.failed", "random_weights"),
        ("cut", "convert", "stage.output_missing", ""),
        ("scrambled", "export", "mindspeed_llm.other_weights", ""),
    ],
)
def test_what_upstream_passes_over_in_silence_is_a_failure(
    made: Maker, mode: str, stage: str, code: str, word: str
) -> None:
    folder = made(mode, only=stage)
    result = run(folder)
    assert (result.state, result.stage) == ("failed", stage)
    assert code in problem_codes(folder)
    assert word in folder.log(stage).read_text()


def test_a_training_that_died_goes_on_from_its_own_newest_checkpoint(made: Maker) -> None:
    folder = made("dies 3", only="train")
    result = run(folder)
    if result.state != "succeeded":
        result = run(folder, again=True)
    assert result.state == "succeeded", folder.log("train").read_text()
    assert iterations(folder) == [1, 2, 3, 3, 4, 5]  # saved behind 2
    assert (folder.checkpoints / standin.LATEST).read_text() == "5"


def test_a_named_checkpoint_is_gone_on_from(made: Maker, tmp_path: Path) -> None:
    standin.save(tmp_path / "earlier", 3, LAYOUT)
    folder = made(only="train", train__resume__checkpoint_path=str(tmp_path / "earlier" / "iter_0000003"))
    assert run(folder).state == "succeeded", folder.log("train").read_text()
    assert iterations(folder) == [4, 5]


def test_without_an_installation_nothing_is_started(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made()
    monkeypatch.delenv("TRAINYARD_MINDSPEED_LLM_HOME")
    assert run(folder).state == "failed"
    assert problem_codes(folder) == ["framework.not_installed"]
    assert not started(folder)
    assert Result.read(folder.result) is not None
