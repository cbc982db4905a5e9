"""Parameters counted from dimensions against the totals that the publishers print."""

from __future__ import annotations

import pytest

from engine.planner.memory.adapters import megatron_adapters, separate_adapters
from engine.planner.memory.megatron import per_token
from engine.planner.memory.parameters import count
from engine.planner.throughput import matrix_parameters
from tests.engine.memory_questions import CATALOG


@pytest.mark.parametrize("model", CATALOG.architectures)
def test_the_parameters_of_every_model_are_counted_exactly(model: str) -> None:
    shape = CATALOG.architectures[model]
    assert count(shape).total == shape.total_params


def test_all_models_of_the_vendor_and_our_sample_have_dimensions() -> None:
    assert len(CATALOG.architectures) == 40
    assert set(CATALOG.models) - set(CATALOG.architectures) == {"tiny-llama"}


def test_the_tables_of_advice_are_whole() -> None:
    assert len(CATALOG.parallel_configs) == 49
    assert len(CATALOG.accumulations) == 131
    assert len(CATALOG.inference_limits) == 67
    assert len(CATALOG.quantizations) == 191
    assert {row.zero_stage for row in CATALOG.accumulations} == {None, 1, 2, 3}


def test_active_parameters_of_mixtures_are_those_that_one_token_passes() -> None:
    mixtral, deepseek = CATALOG.architectures["mixtral-8x7b"], CATALOG.architectures["deepseek-v3"]
    norms = 4096  # of the last layer; the published number has the embedding and it too
    assert matrix_parameters(mixtral) + count(mixtral).embedding + norms == 12_879_925_248
    assert matrix_parameters(deepseek) == pytest.approx(36.7e9, rel=0.01)


def test_adapters_have_the_published_sizes() -> None:
    def adapters(model: str) -> int:
        counts = count(CATALOG.architectures[model])
        return megatron_adapters(CATALOG.architectures[model], 8, counts.dense_layers, counts.moe_layers)

    assert adapters("llama3.1-8b") == pytest.approx(18e6, rel=0.02)
    assert adapters("qwen2.5-72b") == pytest.approx(90e6, rel=0.01)
    assert adapters("deepseek-v3") == pytest.approx(2.5e9, rel=0.02)
    assert separate_adapters(CATALOG.architectures["llama3.1-8b"], 8) == 20_971_520  # as PEFT prints it


def test_activations_of_a_layer_have_the_derived_sizes() -> None:
    assert per_token(CATALOG.architectures["llama3.1-8b"], False) == pytest.approx(141e3, rel=0.003)
    assert per_token(CATALOG.architectures["qwen2.5-72b"], False) == pytest.approx(284e3, rel=0.003)
    llama2 = CATALOG.architectures["llama2-7b"]  # multi-head: 16.5 h + 6 f
    assert per_token(llama2, False) == 16.5 * llama2.hidden_size + 6 * llama2.intermediate_size
