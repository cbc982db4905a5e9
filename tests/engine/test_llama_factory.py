"""LLaMA-Factory: what is planned, what its files say, and a run of it with a stand-in for its interpreter."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine import __main__ as command_line
from engine import families
from engine.catalog import load
from engine.frameworks import reader
from engine.frameworks.installed import find
from engine.frameworks.llama_factory.flags import FIXED, READ_BY
from engine.frameworks.llama_factory.output import metric
from engine.frameworks.llama_factory.templates import OF_FAMILY, SHARED_END, TEMPLATES
from engine.plan import Plan
from engine.planner import check, plan
from engine.run_folder import RunFolder
from engine.runner import prepare, run
from engine.spec import JobSpec
from tests.engine.asked import native, request
from tests.engine.stand_in_llama_factory import KEYS, make
from tests.engine.test_plan import leaves
from tests.made_runs import events, facts, iterations, problem_of, start_runner, wait_until
from tests.model_folders import make_model

CATALOG = load()
ALPACA = [{"instruction": f"question {number}", "output": f"answer {number}"} for number in range(12)]


def planned(data: dict[str, Any]) -> Plan:
    return plan(JobSpec.model_validate(data), CATALOG)


def on_cpu(folder: Path, **changes: Any) -> dict[str, Any]:
    dataset = folder / "rows with a blank.json"
    dataset.write_text(json.dumps(ALPACA), encoding="utf-8")
    values: dict[str, Any] = {
        "framework": "llama-factory",
        "model": "tiny-llama",
        "model_path": str(folder / 'a "quoted" \\ model'),
        "train__dataset__path": str(dataset),
        "train__train_iters": 6,
        "train__epochs": None,
        "train__save_interval": 2,
        "train__global_batch_size": None,
    }
    return native(**values | changes)


def on_cards(**changes: Any) -> dict[str, Any]:
    return request(framework="llama-factory", **changes)


def settings(made: Plan, name: str = "config/train.yaml") -> dict[str, Any]:
    (text,) = (stage.files[name] for stage in made.stages if name in stage.files)
    values: dict[str, Any] = yaml.safe_load(text)
    return values


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a stand-in's interpreter, which the settings name."""
    place = tmp_path / "installed"
    place.mkdir()
    python = make(place)
    monkeypatch.setenv("TRAINYARD_LLAMA_FACTORY_PYTHON", str(python))
    return python


def prepared(folder: Path, data: dict[str, Any]) -> RunFolder:
    spec = JobSpec.model_validate(data)
    ready = RunFolder(folder)
    prepare(ready, spec, plan(spec, CATALOG))
    return ready


# what is planned


CASES = {
    "full on 8 cards": on_cards(),
    "lora on 2 cards": on_cards(devices=2, train__strategy="lora", train__lora__target_modules=["q_proj", "v_proj"]),
    "zero 3": on_cards(train__layout__zero_stage=3),
    "documents": on_cards(train__stage="pretrain", train__dataset__format="text"),
    "packed": on_cards(train__packing=True),
    "the last answer": on_cards(train__dataset__train_on="last_answer", train__dataset__template="chatml"),
    "the whole text": on_cards(train__dataset__train_on="whole_text"),
    "resumed": on_cards(train__resume__checkpoint_path="/runs/1/checkpoint-100"),
}


@pytest.mark.parametrize("name", CASES)
def test_every_key_is_one_that_the_program_takes(name: str) -> None:
    known = json.loads(KEYS.read_text(encoding="utf-8"))
    made = planned(CASES[name])
    assert set(settings(made)) <= set(known["train"])
    assert set(settings(made, "config/export.yaml")) <= set(known["export"])


@pytest.mark.parametrize("name", CASES)
def test_every_key_has_a_field_or_is_fixed(name: str) -> None:
    told = {key for keys in READ_BY.values() for key in keys}
    made = planned(CASES[name])
    assert set(settings(made)) | set(settings(made, "config/export.yaml")) <= told | set(FIXED)
    assert not told & set(FIXED)


def test_it_says_how_it_reads_every_field() -> None:
    assert set(READ_BY) == leaves(JobSpec.model_validate(on_cards()).model_dump())


def test_the_fields_of_a_request_reach_their_keys() -> None:
    data = on_cards(
        devices=4,
        train__strategy="lora",
        train__micro_batch_size=2,
        train__global_batch_size=32,
        train__train_iters=500,
        train__epochs=None,
        train__learning_rate=1e-5,
        train__min_learning_rate=1e-7,
        train__seed=7,
        train__save_interval=50,
        train__lora={"rank": 16, "alpha": 32, "dropout": 0.05, "target_modules": None},
    )
    values = settings(planned(data))
    expected = {
        "model_name_or_path": data["model_path"],
        "template": "llama3",
        "stage": "sft",
        "finetuning_type": "lora",
        "cutoff_len": 4096,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "max_steps": 500,
        "warmup_steps": 50,
        "learning_rate": 1e-5,
        "seed": 7,
        "save_steps": 50,
        "lora_rank": 16,
        "lora_alpha": 32,
        "lora_dropout": 0.05,
        "lora_target": "all",
        "bf16": True,
    }
    assert {key: values[key] for key in expected} == expected
    assert values["lr_scheduler_kwargs"] == {"min_lr_rate": pytest.approx(0.01)}
    assert "num_train_epochs" not in values
    assert settings(planned(on_cards()))["num_train_epochs"] == 1.0


def test_what_is_learnt_and_what_shares_a_sample_reach_their_keys() -> None:
    names = ("packing", "neat_packing", "mask_history", "train_on_prompt", "template")

    def found(**changes: Any) -> dict[str, Any]:
        values = settings(planned(on_cards(**changes)))
        return {name: values[name] for name in names if name in values}

    texts = {"train__stage": "pretrain", "train__dataset__format": "text"}
    assert found() == {"packing": False, "template": "llama3"}
    assert found(train__packing=False) == found()
    assert found(train__packing=True) == found() | {"packing": True, "neat_packing": True}
    assert found(train__dataset__train_on="last_answer") == found() | {"mask_history": True}
    assert found(train__dataset__train_on="whole_text") == found() | {"train_on_prompt": True}
    assert found(train__dataset__template="yi") == found() | {"template": "yi"}
    assert found(**texts) == found() | {"packing": True}
    assert found(**texts, train__packing=False) == found()


def test_the_families_that_it_has_too_are_templates_of_both() -> None:
    assert set(OF_FAMILY) <= set(families.NAMES)
    assert set(OF_FAMILY.values()) | SHARED_END <= set(TEMPLATES)


def test_a_number_is_never_read_as_text_nor_a_path_as_something_else(tmp_path: Path) -> None:
    awkward = 'no: "quoted" \\ {braces} # and 中文'
    rates = {"train__learning_rate": 1e-5, "train__min_learning_rate": 1e-10}
    values = settings(planned(on_cards(**rates, model_path=awkward)))
    assert isinstance(values["learning_rate"], float)
    assert isinstance(values["lr_scheduler_kwargs"]["min_lr_rate"], float)
    assert values["model_name_or_path"] == awkward
    assert values["save_strategy"] == "steps"


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_deepspeed_gets_its_file_and_torchrun_starts_it(stage: int) -> None:
    made = planned(on_cards(train__layout__zero_stage=stage))
    train = made.stages[1]
    assert settings(made)["deepspeed"] == "config/deepspeed.json"
    zero = json.loads(train.files["config/deepspeed.json"])["zero_optimization"]
    assert (zero["stage"], zero["overlap_comm"]) == (stage, False)
    assert zero.get("stage3_gather_16bit_weights_on_model_save", False) is (stage == 3)
    theirs = train.commands[-1]
    assert theirs.argv[theirs.argv.index("--nproc_per_node") + 1] == "8"
    assert (theirs.processes_per_node, theirs.nodes) == (8, 1)


def test_several_nodes_are_planned_but_not_started(tmp_path: Path, installed: Path) -> None:
    data = on_cards(devices=32, train__layout__zero_stage=2)
    made = planned(data)
    theirs = made.stages[1].commands[-1]
    at = theirs.argv.index
    assert (theirs.argv[at("--nnodes") + 1], theirs.argv[at("--node_rank") + 1]) == ("4", "{node_rank}")
    assert (theirs.nodes, theirs.processes_per_node) == (4, 8)
    folder = prepared(tmp_path / "1", data)
    assert run(folder).state == "failed"
    assert problem_of(folder)["code"] == "framework.one_node"
    assert [name for name, _ in facts(folder, "started")] == [""]


def test_every_model_that_is_offered_has_a_template_of_the_release() -> None:
    offered = [model for model in CATALOG.models.values() if "llama-factory" in model.frameworks]
    assert len(offered) > 20
    assert [model.name for model in offered if model.template not in TEMPLATES] == []


@pytest.mark.parametrize(
    ("changes", "code", "severity"),
    [
        ({"train__strategy": "lora", "train__lora__alpha": 1.5}, "lora.alpha_not_whole", "error"),
        ({"train__sample_prompts": ["Who are you?"]}, "sample_prompts.unused", "warning"),
        ({"train__dataset__template": "qwen"}, "llama_factory.template", "error"),
        ({"model": "glm4-9b", "train__dataset__train_on": "last_answer"}, "llama_factory.train_on", "error"),
        ({"train__stage": "pretrain", "train__packing": True}, "llama_factory.documents_together", "error"),
        ({"train__stage": "pretrain", "train__packing": False}, "llama_factory.documents_cut", "warning"),
    ],
)
def test_what_it_cannot_do_is_said_before(changes: dict[str, Any], code: str, severity: str) -> None:
    found = {problem.code: problem.severity for problem in check(on_cards(**changes), CATALOG).problems}
    assert found.get(code) == severity


def test_a_tokenizer_without_the_token_that_ends_an_answer_is_told(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model")

    def found(model: str, framework: str = "llama-factory") -> set[str]:
        data = on_cpu(tmp_path, model=model, model_path=str(folder), framework=framework)
        return {problem.code for problem in check(data, CATALOG, files=True).problems}

    for tokens, told in (([{"content": "<|im_end|>"}], False), ([], True)):
        (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": tokens, "model": {"vocab": {"a": 0}}}))
        assert ("model_path.other_template" in found("qwen2-0.5b")) is told
        assert "model_path.other_template" not in found("qwen2-0.5b", "native")
        assert "model_path.other_template" not in found("llama2-7b"), "it ends with the tokenizer's own token"


# its log


LOG = """\
[INFO|trainer.py:1469] 2026-01-31 10:00:00,000 >> ***** Running training *****
[INFO|trainer.py:1470] 2026-01-31 10:00:00,000 >>   Num examples = 1,353
[INFO|trainer.py:1478] 2026-01-31 10:00:00,000 >>   Total optimization steps = 1,200
[INFO|trainer.py:1482] 2026-01-31 10:00:00,000 >>   Resuming training from checkpoint with epoch 6 and global step 1,000
\r  0%|   | 0/1200\r      \r{'loss': '2.305', 'grad_norm': '1.191', 'learning_rate': '0.0003216', 'epoch': '6.26'}
\r  1%|   | 2/1200\r      \r{'loss': 2.5, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 6.3}
{'eval_loss': '2.1', 'eval_runtime': '3.2', 'epoch': '6.3'}
{'train_runtime': '12.9', 'train_samples_per_second': '7.5', 'train_loss': '0.8', 'epoch': '1'}
"""


def test_its_log_lines_are_numbered_from_where_the_training_goes_on() -> None:
    follows = reader("llama-factory")
    first, second = filter(None, map(follows.metric, LOG.splitlines()))
    assert first == {
        "iteration": 1001,
        "total_iterations": 1200,
        "lm_loss": 2.305,
        "grad_norm": 1.191,
        "learning_rate": 0.0003216,
    }
    assert (second["iteration"], second["lm_loss"], second["learning_rate"]) == (1002, 2.5, 1e-5)
    assert second["grad_norm"] != second["grad_norm"]


def test_the_lines_of_its_own_log_file_are_whole_facts() -> None:
    line = '{"current_steps": 5, "total_steps": 40, "loss": 8.9989, "lr": 0.001, "epoch": 0.0885, "percentage": 12.5}'
    assert metric(line) == {"iteration": 5, "total_iterations": 40, "lm_loss": 8.9989, "learning_rate": 0.001}
    assert metric('{"current_steps": 40, "total_steps": 40, "eval_loss": 2.0}') is None
    assert metric("no json") is None


# a run


@pytest.mark.parametrize(("strategy", "devices"), [("full", 1), ("lora", 2)])
def test_a_run_goes_through_its_stages_and_tells_each_iteration_once(
    tmp_path: Path, installed: Path, strategy: str, devices: int
) -> None:
    folder = prepared(tmp_path / "run 1", on_cpu(tmp_path, train__strategy=strategy, devices=devices))
    result = run(folder)
    log = folder.log("train").read_text()
    assert (result.state, result.stage) == ("succeeded", "export"), log
    assert [name for name, data in facts(folder, "finished") if name] == ["preprocess", "train", "export"]
    assert iterations(folder) == [1, 2, 3, 4, 5, 6]
    (_, last) = facts(folder, "metric")[-1]
    assert (last["lm_loss"], last["total_iterations"]) == (1.333, 6)
    assert last["elapsed_ms_per_iteration"] >= 0
    (_, progress) = [fact for fact in facts(folder, "progress") if fact[0] == "train"][-1]
    assert progress == {"done": 6, "total": 6, "unit": "iterations", "seconds_left": 0}
    assert json.loads((folder.data / "report.json").read_text())["rows_written"] == 12
    assert (folder.output / "adapter" / "adapter_config.json").exists() is (strategy == "lora")
    started = [data["argv"] for name, data in facts(folder, "started") if name == "train"]
    assert started[-1][0] == str(installed)
    assert not any("{" in word for word in started[-1])


def test_a_runner_that_is_killed_leaves_no_iteration_out_and_none_twice(
    tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_WAITS_AT", "4")
    folder = prepared(tmp_path / "1", on_cpu(tmp_path))
    runner = start_runner(folder)
    wait_until(lambda: iterations(folder) == [1, 2, 3])
    runner.kill()
    runner.wait()
    (folder.path / "go").touch()
    assert run(folder).state == "succeeded"
    assert iterations(folder) == [1, 2, 3, 4, 5, 6]
    assert [event["seq"] for event in events(folder)] == list(range(1, len(events(folder)) + 1))
    assert len([name for name, _ in facts(folder, "started") if name == "train"]) == 2  # ours and theirs, once each


def test_exit_0_without_the_weights_is_no_success(
    tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_WRITES_NOTHING", "1")
    folder = prepared(tmp_path / "1", on_cpu(tmp_path))
    result = run(folder)
    assert (result.state, result.stage, result.returncode) == ("failed", "train", 0)
    problem = problem_of(folder)
    assert (problem["code"], problem["parameters"]["path"]) == (
        "stage.output_missing",
        "checkpoints/train_results.json",
    )


def test_asked_again_it_goes_on_from_its_newest_whole_checkpoint(
    tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_WRITES_NOTHING", "1")
    folder = prepared(tmp_path / "1", on_cpu(tmp_path, train__train_iters=5))
    assert run(folder).state == "failed"
    half = folder.checkpoints / "checkpoint-9"
    half.mkdir()
    monkeypatch.delenv("STAND_IN_WRITES_NOTHING")
    assert run(folder, again=True).state == "succeeded"
    assert iterations(folder) == [1, 2, 3, 4, 5, 5]
    assert not half.exists()


def test_a_named_checkpoint_is_forgotten_once_the_run_has_one_of_its_own(
    tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_WRITES_NOTHING", "1")
    folder = prepared(tmp_path / "1", on_cpu(tmp_path, train__resume__checkpoint_path=str(tmp_path / "earlier")))
    assert run(folder).state == "failed"
    config = folder.path / "config" / "train.yaml"
    assert yaml.safe_load(config.read_text())["resume_from_checkpoint"] == str(tmp_path / "earlier")
    run(folder, again=True)
    assert "resume_from_checkpoint" not in yaml.safe_load(config.read_text())


def test_rows_that_the_program_did_not_read_fail_the_run(tmp_path: Path, installed: Path) -> None:
    program = installed.with_name("program.py")
    program.write_text(program.read_text().replace("Num examples = {count:,}", "Num examples = {count - 1:,}"))
    folder = prepared(tmp_path / "1", on_cpu(tmp_path))
    assert run(folder).state == "failed"
    problems = [data["problem"] for _, data in facts(folder, "problem")]
    assert (problems[0]["code"], problems[0]["parameters"]["read"]) == ("llama_factory.rows_lost", 11)


def test_rows_that_are_packed_are_other_samples_and_those_left_out_are_counted(tmp_path: Path, installed: Path) -> None:
    program = installed.with_name("program.py")
    whole = program.read_text().replace("Num examples = {count:,}", "Num examples = {count // 2:,}")
    program.write_text(whole)
    data = on_cpu(tmp_path, train__packing=True)
    assert run(prepared(tmp_path / "1", data)).state == "succeeded"
    warning = "[WARNING|2026-12-01 10:00:00] llamafactory.data >> Dropped lengthy example with length 99 > 64."
    program.write_text(whole.replace("    for step in range(", f"    print({warning!r})\n    for step in range("))
    folder = prepared(tmp_path / "2", data)
    assert run(folder).state == "failed"
    problems = [told["problem"] for _, told in facts(folder, "problem")]
    assert (problems[0]["code"], problems[0]["parameters"]["read"]) == ("llama_factory.rows_lost", 11)


def test_an_interpreter_is_asked_for_the_version(installed: Path) -> None:
    found = find("llama-factory", os.environ)
    assert found is not None
    assert (found.python, found.version) == (str(installed), "0.9.5")


def test_not_installed_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRAINYARD_LLAMA_FACTORY_PYTHON", str(tmp_path / "nowhere"))
    assert find("llama-factory", os.environ) is None
    folder = prepared(tmp_path / "1", on_cpu(tmp_path))
    assert run(folder).state == "failed"
    assert problem_of(folder)["code"] == "framework.not_installed"
    assert not folder.log("preprocess").exists()
    spec = tmp_path / "spec.json"
    model = tmp_path / "model"
    spec.write_text(json.dumps(on_cpu(tmp_path, model_path=str(model))))
    monkeypatch.setattr(command_line, "check", lambda data, catalog, files: check(data, catalog))
    assert command_line.main(["run", str(spec), "--run-dir", str(tmp_path / "2")]) == 2
    assert re.search("llama-factory .*is not installed", capsys.readouterr().err)
    assert not (tmp_path / "2").exists()
