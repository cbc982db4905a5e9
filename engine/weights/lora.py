"""Low-rank adapters (Hu et al. 2021, arXiv 2106.09685): y = W x + (alpha / rank) B A x, with W at rest."""

from __future__ import annotations

import math

import torch
from torch import nn

from engine.failures import Failure
from engine.layer_names import matches
from engine.spec import LoraOptions


class LoraLinear(nn.Module):
    """A frozen linear layer with an adapter beside it. B starts at zero, so that training starts at the base."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float, dropout: float) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.scale = alpha / rank
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., in_features] → [..., out_features]."""
        update: torch.Tensor = self.lora_B(self.lora_A(self.dropout(x)))
        result: torch.Tensor = torch.add(self.base(x), update, alpha=self.scale)
        return result

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """The plain layer that does the same; the base layer is changed in place."""
        self.base.weight.addmm_(self.lora_B.weight, self.lora_A.weight, alpha=self.scale)
        return self.base


def target_names(model: nn.Module, options: LoraOptions) -> list[str]:
    """Full names of the layers that get an adapter: the ones asked for, or every linear layer of a block.

    Raises Failure `lora.no_such_layer` when a name matches nothing.
    """
    head = getattr(model, "get_output_embeddings", lambda: None)()
    linear = [name for name, layer in model.named_modules() if isinstance(layer, nn.Linear) and layer is not head]
    wanted = options.target_modules
    if wanted is None:
        return linear
    found = [name for name in linear if any(matches(name, target) for target in wanted)]
    for target in wanted:
        if not any(matches(name, target) for name in found):
            known = sorted({name.rpartition(".")[2] for name in linear})
            raise Failure("lora.no_such_layer", "train.lora.target_modules", layer=target, known=", ".join(known))
    return found


def add_adapters(model: nn.Module, options: LoraOptions) -> None:
    """Freeze the model and put an adapter beside each target layer, in place."""
    names = target_names(model, options)
    model.requires_grad_(False)
    for name in names:
        layer = model.get_submodule(name)
        assert isinstance(layer, nn.Linear)
        model.set_submodule(name, LoraLinear(layer, options.rank, options.alpha, options.dropout))


def merge_adapters(model: nn.Module) -> None:
    """Fold every adapter into its base layer, in place: the model has its first shape again."""
    adapted = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, LoraLinear)]
    for name, layer in adapted:
        model.set_submodule(name, layer.merged())
