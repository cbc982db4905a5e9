"""Samples that share a sequence: all of them, each once, and none sees another."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM

from engine.failures import Failure
from engine.preprocess.packing import pack
from engine.preprocess.store import IGNORED, DocumentStore, Sequence
from engine.preprocess.writing import Mark, TokenFiles
from engine.training.data import padded
from engine.training.piece import Piece
from engine.training.proofs import require_isolation
from tests.engine import native

SIZE: dict[str, Any] = {
    "vocab_size": 300, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 256,
}  # fmt: skip
MODELS = {
    "llama": (LlamaForCausalLM, LlamaConfig, {}),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, {}),
    "mistral, which looks back no further than a window": (MistralForCausalLM, MistralConfig, {"sliding_window": 8}),
}


@pytest.mark.parametrize("seed", range(20))
def test_each_sample_is_in_one_sequence_and_none_is_too_long(seed: int) -> None:
    rng = random.Random(seed)
    capacity = rng.choice([8, 64, 4096])
    lengths = [rng.randint(1, capacity) for _ in range(rng.randint(0, 300))]
    bins = pack(lengths, capacity)
    assert sorted(number for members in bins for number in members) == list(range(len(lengths)))
    assert all(sum(lengths[number] for number in members) <= capacity for members in bins)
    assert pack(lengths, capacity) == bins
    assert len(bins) <= 11 / 9 * -(-sum(lengths) // capacity) + 1 or min(lengths) > capacity / 9


def test_short_samples_fill_nearly_everything() -> None:
    rng = random.Random(1)
    lengths = [min(1024, max(8, int(rng.lognormvariate(5, 0.7)))) for _ in range(6000)]
    assert sum(lengths) / (len(pack(lengths, 1024)) * 1024) > 0.99


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    kind, config, more = MODELS[request.param]
    torch.manual_seed(1)
    return kind(config(**SIZE, **more, attn_implementation="sdpa")).eval()


def sequence(*lengths: int, seed: int = 0) -> Sequence:
    rng = np.random.default_rng([seed, *lengths])
    ids = rng.integers(0, 300, sum(lengths)).astype(np.int32)
    labels = ids.copy()
    labels[np.cumsum([0, *lengths[:-1]])] = IGNORED
    return Sequence(ids, labels, lengths)


@torch.inference_mode()
def test_the_logits_of_a_packed_sample_are_those_of_the_sample_alone(model: Any) -> None:
    rows = [sequence(20, 1, 33, 10), sequence(7, seed=2), sequence(30, 30)]
    batch = padded(rows)
    packed = model(input_ids=batch.input_ids, **batch.inputs, use_cache=False).logits
    for number, row in enumerate(rows):
        start = 0
        for length in row.lengths:
            ids = torch.from_numpy(row.ids[start : start + length].astype(np.int64)).unsqueeze(0)
            alone = model(input_ids=ids, use_cache=False).logits[0]
            assert (packed[number, start : start + length] - alone).abs().max() < 1e-5
            start += length


def test_without_positions_the_samples_do_see_each_other(model: Any) -> None:
    batch = padded([sequence(20, 20)])
    with torch.inference_mode():
        apart = model(input_ids=batch.input_ids, **batch.inputs, use_cache=False).logits
        together = model(input_ids=batch.input_ids, use_cache=False).logits
    assert (apart[0, :20] - together[0, :20]).abs().max() < 1e-5
    assert (apart[0, 20:] - together[0, 20:]).abs().max() > 1e-3


def test_loss_and_gradients_of_packed_samples_are_the_sum_of_those_alone(model: Any) -> None:
    packed = sequence(20, 13, 30)
    ends = np.cumsum(packed.lengths)
    parts = [
        Sequence(packed.ids[end - length : end], packed.labels[end - length : end], (length,))
        for end, length in zip(ends, packed.lengths, strict=True)
    ]
    piece = Piece(model)
    gradients = []
    for batches in ([padded([packed])], [padded([part]) for part in parts]):
        model.zero_grad()
        total = sum(piece(batch.input_ids, batch.labels, **batch.inputs) for batch in batches)
        total.backward()
        gradients.append((float(total.detach()), [parameter.grad.clone() for parameter in model.parameters()]))
    assert gradients[0][0] == pytest.approx(gradients[1][0], rel=1e-6)
    for ours, theirs in zip(gradients[0][1], gradients[1][1], strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4)


def test_a_model_that_keeps_samples_apart_is_let_through(model: Any) -> None:
    require_isolation(model)


def test_a_model_that_does_not_is_refused_before_it_trains(model: Any) -> None:
    class Deaf(type(model)):  # type: ignore[misc]
        def forward(self, *args: Any, position_ids: Any = None, **kwargs: Any) -> Any:
            return super().forward(*args, **kwargs)

    model.__class__ = Deaf
    with pytest.raises(Failure) as failure:
        require_isolation(model)
    assert failure.value.problem.code == "train.packing_leaks"


def test_documents_that_meet_in_a_sample_can_be_kept_apart(tmp_path: Path) -> None:
    lengths = np.array([3, 0, 6, 1, 9], np.int32)
    files = TokenFiles(tmp_path, ["text"], Mark())
    files.add(lengths, np.arange(19, dtype=np.int32))
    files.finish()
    (tmp_path / "text_document.bin").rename(tmp_path / "p_text_document.bin")
    (tmp_path / "text_document.idx").rename(tmp_path / "p_text_document.idx")
    apart = DocumentStore(tmp_path / "p", 8, apart=True)
    assert [apart[n].lengths for n in range(len(apart))] == [(3, 5), (1, 1, 6), (3,)]
    assert np.concatenate([apart[n].ids for n in range(len(apart))]).tolist() == list(range(19))
    assert apart[0].labels.tolist() == [IGNORED, 1, 2, IGNORED, 4, 5, 6, 7]
    assert apart[1].positions.tolist() == [0, 0, 0, 1, 2, 3, 4, 5]
    together = DocumentStore(tmp_path / "p", 8, apart=False)
    assert [together[n].lengths for n in range(len(together))] == [(8,), (8,), (3,)]


def test_a_training_on_packed_samples_learns(tiny_model: Path, tmp_path: Path) -> None:
    file = native.train(tmp_path / "run", tiny_model, packing=True, seq_length=128, train_iters=8)
    losses = native.losses(file)
    assert losses[-1] < losses[0] - 0.2
