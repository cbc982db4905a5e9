"""What a model is cut into, and what is refused rather than cut wrongly."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
)

from engine.failures import Failure
from engine.training.head_loss import head_loss
from engine.training.proofs import require_plain_head
from engine.training.splitting import pipeline, tensor

SIZE: dict[str, Any] = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2,
}  # fmt: skip


class TwoDevices:
    """As much of a mesh as is looked at before anything is cut."""

    def __init__(self, size: int) -> None:
        self._size = size

    def size(self) -> int:
        return self._size


def llama() -> LlamaForCausalLM:
    torch.manual_seed(1)
    return LlamaForCausalLM(LlamaConfig(**SIZE, tie_word_embeddings=False))


@pytest.mark.parametrize("pieces", range(1, 9))
@pytest.mark.parametrize("layers", [8, 9, 30, 61])
def test_each_layer_is_in_one_piece_and_the_ends_have_no_more_than_the_middle(layers: int, pieces: int) -> None:
    shares = pipeline.shares(layers, pieces)
    assert [number for share in shares for number in share] == list(range(layers))
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    if pieces > 2:
        assert sizes[0] <= max(sizes[1:-1])
        assert sizes[-1] <= max(sizes[1:-1])


def test_a_piece_keeps_the_names_of_what_it_holds() -> None:
    names = set(dict(llama().named_parameters()))
    held = []
    for place in range(2):
        model = llama()
        pipeline.keep(model, place, 2)
        held.append(set(dict(model.named_parameters())))
    assert held[0] | held[1] == names
    assert not held[0] & held[1]
    assert "model.embed_tokens.weight" in held[0]
    assert {"lm_head.weight", "model.norm.weight"} <= held[1]


def test_more_pieces_than_layers_are_refused() -> None:
    with pytest.raises(Failure) as failure:
        pipeline.keep(llama(), 0, 4)
    assert failure.value.problem.code == "layout.too_many_stages"


def test_heads_that_cannot_be_shared_out_are_refused() -> None:
    with pytest.raises(Failure) as failure:
        tensor.split(llama(), TwoDevices(4))  # type: ignore[arg-type]
    assert failure.value.problem.code == "layout.heads"


def test_a_way_to_split_that_was_never_compared_is_refused() -> None:
    model = MixtralForCausalLM(MixtralConfig(**SIZE, num_local_experts=2))
    with pytest.raises(Failure) as failure:
        tensor.split(model, TwoDevices(2))  # type: ignore[arg-type]
    assert failure.value.problem.code == "layout.no_tensor_plan"


def test_a_model_that_does_more_than_multiply_with_its_head_is_refused() -> None:
    require_plain_head(llama())
    with pytest.raises(Failure) as failure:
        require_plain_head(GraniteForCausalLM(GraniteConfig(**SIZE, logits_scaling=2.0)))
    assert failure.value.problem.code == "train.unusual_head"


@pytest.mark.parametrize("block", [1, 200, 1 << 22])
def test_the_loss_in_blocks_and_its_gradients_are_torchs(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.training.head_loss.BLOCK", block)
    torch.manual_seed(0)
    hidden, weight = torch.randn(11, 16, requires_grad=True), torch.randn(40, 16, requires_grad=True)
    targets = torch.randint(0, 40, (11,))
    expected = torch.nn.functional.cross_entropy(hidden @ weight.T, targets, reduction="sum") / 3
    found = head_loss(hidden, weight, targets) / 3
    assert float(found.detach()) == pytest.approx(float(expected.detach()), rel=1e-6)
    for ours, theirs in zip(
        torch.autograd.grad(found, (hidden, weight)), torch.autograd.grad(expected, (hidden, weight)), strict=True
    ):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_nothing_to_learn_is_no_loss_and_no_gradient() -> None:
    hidden, weight = torch.zeros(0, 16, requires_grad=True), torch.randn(40, 16, requires_grad=True)
    loss = head_loss(hidden, weight, torch.zeros(0, dtype=torch.long))
    loss.backward()
    assert float(loss.detach()) == 0
    assert weight.grad is not None
    assert not weight.grad.any()
