"""Proof, before a training on packed samples, that this very model keeps them apart."""

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
