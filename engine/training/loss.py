"""Cross-entropy of the next token, summed, so that the caller divides once by the whole global batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from engine.preprocess.store import IGNORED
from engine.training.data import MicroBatch

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class SummedLoss(nn.Module):
    """A causal language model whose output is the sum of -log p over the trained tokens (fp32 scalar)."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: MicroBatch) -> torch.Tensor:
        """Logits are made only at positions where some row has something to learn: the head is a
        fifth of a small model, and the questions of a chat need none. Samples that share a row are told apart by
        their positions (transformers' own way: without a mask and a cache, a position that does not follow the one
        before it begins another sequence), which `engine.training.packing` proves on the model itself."""
        targets = batch.labels[:, 1:]
        places = (targets != IGNORED).any(dim=0).nonzero().squeeze(1)
        logits = self.model(
            input_ids=batch.input_ids, position_ids=batch.position_ids, logits_to_keep=places, use_cache=False
        ).logits
        wanted = targets[:, places].flatten()
        return cross_entropy(logits.flatten(0, 1).float(), wanted, ignore_index=IGNORED, reduction="sum")
