"""A causal language model, or the consecutive layers of it that one process holds, as tokens (or hidden states) in and
summed loss (or hidden states) out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from engine.preprocess.store import IGNORED
from engine.training.head_loss import head_loss

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Piece(nn.Module):
    """`model` with what belongs to other processes taken out (see `splitting.pipeline`)."""

    def __init__(self, model: PreTrainedModel, first: bool = True, last: bool = True) -> None:
        super().__init__()
        self.model, self.first, self.last = model, first, last

    def forward(self, start: Tensor, labels: Tensor, tokens: float = 1.0, **inputs: Any) -> Tensor:
        """The sum of -log p over the trained tokens divided by `tokens` (fp32 scalar), of the last piece; hidden states
        [rows, length, hidden size] of another.

        start: input_ids, int64 [rows, length], of the first piece; hidden states of another; labels: like input_ids,
        IGNORED where nothing is learnt; inputs: such as position_ids [rows, length].
        """
        kind = "input_ids" if self.first else "inputs_embeds"
        hidden: Tensor = self.model.base_model(**{kind: start}, use_cache=False, **inputs).last_hidden_state
        return self._loss(hidden, labels) / tokens if self.last else hidden

    def _loss(self, hidden: Tensor, labels: Tensor) -> Tensor:
        """Only positions where something is to be learnt reach the head: the questions of a chat need none."""
        targets = labels[:, 1:].flatten()
        places = (targets != IGNORED).nonzero().squeeze(1)
        weight = self.model.get_output_embeddings().weight
        return head_loss(hidden[:, :-1].flatten(0, 1).index_select(0, places), weight, targets[places])
