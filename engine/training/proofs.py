"""Proof, before a training, that this very model does what the loss takes for granted."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

from engine.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TOLERANCE = 1e-3
"""Of the largest logit; rounding is a thousandth of it in fp32, another sample's influence many times more."""
PROBE = (5, 7)
"""Tokens of the two samples that are tried."""


@torch.inference_mode()
def difference(model: PreTrainedModel) -> float:
    """How far the logits of two packed samples are from those of each alone, as a share of the largest logit."""
    vocabulary = len(cast("torch.Tensor", model.get_input_embeddings().weight))
    ids = (torch.arange(sum(PROBE)) * 7919 % vocabulary).unsqueeze(0)
    positions = torch.cat([torch.arange(length) for length in PROBE]).unsqueeze(0)
    training = model.training
    model.eval()
    try:
        packed = model(input_ids=ids, position_ids=positions, use_cache=False).logits
        alone = torch.cat([model(input_ids=part, use_cache=False).logits for part in ids.split(PROBE, dim=1)], dim=1)
    finally:
        model.train(training)
    return float((packed - alone).abs().max() / alone.abs().max().clamp(min=1e-9))


def require_isolation(model: PreTrainedModel) -> None:
    """Raises Failure `train.packing_leaks` for a model whose code does not tell packed samples apart."""
    if (found := difference(model)) > TOLERANCE:
        name = type(model).__name__
        raise Failure("train.packing_leaks", "train.packing", "software", model=name, difference=f"{found:.2e}")


def require_plain_head(model: PreTrainedModel) -> None:
    """Raises Failure `train.unusual_head` for a model whose logits are not its last hidden states times its head."""
    if (found := head_difference(model)) > TOLERANCE:
        name = type(model).__name__
        raise Failure("train.unusual_head", "model_path", "software", model=name, difference=f"{found:.2e}")


@torch.inference_mode()
def head_difference(model: PreTrainedModel) -> float:
    """How far the model's logits are from that product, as a share of the largest logit."""
    vocabulary = len(cast("torch.Tensor", model.get_input_embeddings().weight))
    ids = (torch.arange(PROBE[0]) * 7919 % vocabulary).unsqueeze(0)
    training = model.training
    model.eval()
    try:
        logits = model(input_ids=ids, use_cache=False).logits
        hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state
    finally:
        model.train(training)
    made = hidden @ cast("torch.Tensor", model.get_output_embeddings().weight).T
    return float((logits - made).abs().max() / logits.abs().max().clamp(min=1e-9))
