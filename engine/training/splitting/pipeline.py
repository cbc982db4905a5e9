"""Pipeline parallelism: which layers a process holds, and the schedule that it works by.

Layers of other processes are replaced by a module without parameters that passes its input on, so that the names of
the parameters stay what they are in the whole model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from engine.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Elsewhere(nn.Module):
    """Stands for a layer that another process holds."""

    def forward(self, hidden_states: Tensor, *_: Any, **__: Any) -> Tensor:
        return hidden_states


def shares(layers: int, pieces: int) -> list[range]:
    """Numbers of the layers of each piece. What is left over goes to the middle: the first piece has the
    embedding to do besides, the last one the head."""
    least, extra = divmod(layers, pieces)
    first = (pieces - extra) // 2 + (pieces - extra) % 2
    result, at = [], 0
    for piece in range(pieces):
        size = least + (first <= piece < first + extra)
        result.append(range(at, at + size))
        at += size
    return result


def keep(model: PreTrainedModel, place: int, pieces: int) -> None:
    """Take out of `model`, in place, what piece number `place` does not hold."""
    base: Any = model.base_model
    if pieces > len(base.layers):
        sizes = {"pipeline_parallel_size": pieces, "layers": len(base.layers), "most": len(base.layers)}
        raise Failure("layout.too_many_stages", "train.layout.pipeline_parallel_size", "user", **sizes)
    mine = shares(len(base.layers), pieces)[place]
    for number in range(len(base.layers)):
        if number not in mine:
            base.layers[number] = Elsewhere()
    if place > 0 and not (place == pieces - 1 and model.config.tie_word_embeddings):
        base.embed_tokens = None
    if place < pieces - 1:
        base.norm = nn.Identity()
        model.set_output_embeddings(nn.Identity())
