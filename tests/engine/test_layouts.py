"""Every layout trains as one process does: the same losses and norms, and on from the same checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.plan import Layout
from engine.stage_file import StageFile
from engine.weights import tiny
from tests.engine import native
from tests.engine.layouts import OF_FOUR, OF_TWO, Case, called, case, layout, prepared, run_case, run_together

EQUAL = 1e-5
NORM = 5e-3
"""Of the norm: adapters of a model that has learnt its rows have next to no gradients, so that rounding shows."""
ITERATIONS, STOP, GO_ON = 20, 3, 6
ALONE = layout(1)
KINDS = [
    f"{family}-{strategy}-{rows}"
    for family in ("llama", "qwen2")
    for strategy in ("full", "lora")
    for rows in ("rows", "packed")
]
HEAD_NORMS = "qwen3-full-rows"
"""Norms of each head: every tensor-parallel process has the gradient of its own heads alone."""
EACH = {one: KINDS[number % 8] for number, one in enumerate(OF_TWO)} | {
    one: KINDS[number % 8] for number, one in enumerate(OF_FOUR)
}
"""What each layout trains."""
MORE = [(layout(2, pipeline=2), "qwen2-lora-rows"), (layout(2, zero=1), "qwen2-lora-packed")]
MORE += [(layout(2, tensor=2), HEAD_NORMS)]
RESUMED = [layout(2, tensor=2), layout(2, pipeline=2), layout(2), layout(2, zero=3)]
RESUMED += [layout(4, tensor=2, zero=3), layout(4, pipeline=2, zero=2)]
CHAINS = ["llama-full-rows", "qwen2-lora-packed"]
OVER_TWO = [layout(2, tensor=2), layout(2, pipeline=2), layout(2, zero=3)]
OVER_FOUR = [layout(4, tensor=2, zero=2), layout(4, pipeline=2, zero=3), layout(4, tensor=2, pipeline=2)]
PART = 2
"""Iterations under each layout of a chain."""
FAULTS = [(layout(4, tensor=2), "_sum_together"), (layout(2, pipeline=2), "_sum_tied")]


def options(kind: str, one: Layout = ALONE) -> dict[str, Any]:
    _, strategy, rows = kind.split("-")
    return {
        "strategy": strategy,
        "packing": rows == "packed",
        "seq_length": 128,
        "micro_batch_size": 1 if one.data_parallel_size > 1 else 2,
        "global_batch_size": 4,
        "train_iters": ITERATIONS,
        "learning_rate": {"full": 3e-3, "lora": 5e-3}[strategy],
        "save_interval": 100,
    }


@dataclass
class Runs:
    place: Path
    models: dict[str, Path]

    def made(self, name: str, kind: str, one: Layout) -> StageFile:
        data = self.place / "data" / kind / "data"
        return prepared(self.place / name / kind, data, self.models[kind.split("-")[0]], one, **options(kind, one))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Everything is trained at once; the tests look at what came of it."""
    place = tmp_path_factory.mktemp("layouts")
    llama = tiny.make(place / "models" / "llama", seed=7, hidden_size=32, layers=3, vocab=512)
    others = {family: model(family, llama, place / "models" / family) for family in ("qwen2", "qwen3")}
    runs = Runs(place, {"llama": llama, **others})
    for kind in (*KINDS, HEAD_NORMS):
        native.preprocess(place / "data" / kind, runs.models[kind.split("-")[0]], **options(kind))
        run_case(case(runs.made("alone", kind, ALONE)))
    for kind in CHAINS:
        run_case(case(runs.made("chain", kind, ALONE), stop_at=PART))
    run_together(2, cases(runs, 2), place / "two.json")
    run_together(4, cases(runs, 4), place / "four.json")
    for kind in CHAINS:
        run_case(case(runs.made("chain", kind, ALONE)))
    return runs


def cases(runs: Runs, devices: int) -> list[Case]:
    """What so many processes train, in order."""
    found = [case(runs.made(called(one), kind, one)) for one, kind in [*EACH.items(), *MORE] if one.devices == devices]
    for one in RESUMED:
        if one.devices == devices:
            file = runs.made(f"resumed-{called(one)}", EACH[one], one)
            found += [case(file, STOP), case(file, GO_ON)]
    for number, one in enumerate([*OVER_TWO, *OVER_FOUR], start=2):
        if one.devices == devices:
            found += [case(runs.made("chain", kind, one), number * PART) for kind in CHAINS]
    for one, fault in FAULTS:
        if one.devices == devices:
            found.append(case(runs.made(f"wrong{fault}", "llama-full-rows", one), GO_ON, fault))
    return found


def model(family: str, tokenizer: Path, folder: Path) -> Path:
    """With biases (qwen2), which Llama has none of, and a head of its own."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

    from engine.weights.export import copy_tokenizer

    kinds: dict[str, Any] = {"qwen2": (Qwen2Config, Qwen2ForCausalLM), "qwen3": (Qwen3Config, Qwen3ForCausalLM)}
    config_class, model_class = kinds[family]
    config = config_class(
        vocab_size=513, hidden_size=32, intermediate_size=72, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, tie_word_embeddings=False, head_dim=8,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        model_class(config).save_pretrained(str(folder))
    copy_tokenizer(tokenizer, folder)
    return folder


def figures(runs: Runs, name: str, kind: str) -> list[tuple[float, float]]:
    """Loss and gradient norm of each iteration."""
    metrics = native.emitted(runs.made(name, kind, ALONE), "metric")
    assert [m["iteration"] for m in metrics] == list(range(1, len(metrics) + 1))
    return [(m["lm_loss"], m["grad_norm"]) for m in metrics]


def assert_equal(ours: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> None:
    assert len(ours) == len(theirs)
    assert [loss for loss, _ in ours] == pytest.approx([loss for loss, _ in theirs], abs=EQUAL)
    assert [norm for _, norm in ours] == pytest.approx([norm for _, norm in theirs], rel=NORM)


@pytest.mark.parametrize(
    ("one", "kind"), [*EACH.items(), *MORE], ids=lambda value: value if isinstance(value, str) else called(value)
)
def test_a_layout_trains_as_one_process_does(runs: Runs, one: Layout, kind: str) -> None:
    assert_equal(figures(runs, called(one), kind), figures(runs, "alone", kind))


def test_there_is_something_to_learn(runs: Runs) -> None:
    for kind in (*KINDS, HEAD_NORMS):
        alone = figures(runs, "alone", kind)
        assert alone[0][0] - alone[-1][0] > (0.05 if "lora" in kind else 0.3), kind


@pytest.mark.parametrize("one", RESUMED, ids=called)
def test_going_on_under_the_same_layout_is_going_on_to_the_bit(runs: Runs, one: Layout) -> None:
    resumed = figures(runs, f"resumed-{called(one)}", EACH[one])
    assert resumed == figures(runs, called(one), EACH[one])[:GO_ON]


@pytest.mark.parametrize("kind", CHAINS)
def test_going_on_under_one_layout_after_the_other_changes_nothing(runs: Runs, kind: str) -> None:
    assert_equal(figures(runs, "chain", kind), figures(runs, "alone", kind))


@pytest.mark.parametrize("fault", [fault for _, fault in FAULTS])
def test_a_gradient_that_is_not_summed_is_seen(runs: Runs, fault: str) -> None:
    alone = figures(runs, "alone", "llama-full-rows")[:GO_ON]
    wrong = figures(runs, f"wrong{fault}", "llama-full-rows")
    assert len(wrong) == GO_ON
    assert abs(wrong[0][0] - alone[0][0]) < EQUAL
    assert max(abs(ours[0] - theirs[0]) for ours, theirs in zip(wrong, alone, strict=True)) > 100 * EQUAL


def test_what_was_trained_in_pieces_is_exported_as_what_was_trained_whole(runs: Runs) -> None:
    import torch
    from safetensors.torch import load_file

    for kind in CHAINS:
        names = ("alone", "chain")
        for name in names:
            native.export(runs.place / name / kind, runs.models[kind.split("-")[0]], **options(kind))
        one, other = (load_file(runs.place / name / kind / "output/model/model.safetensors") for name in names)
        assert one.keys() == other.keys()
        for key in one:
            assert torch.allclose(one[key], other[key], atol=2e-4), key
