"""Tensor parallelism: each layer's matrices split over processes, by the plan that transformers has for the model.

The vocabulary is split too: the embedding by rows, and the head with it, whose loss is made of the parts
(`head_loss`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from engine.failures import Failure
from engine.weights.lora import LoraLinear

if TYPE_CHECKING:
    from transformers import PreTrainedModel

COLUMNS = ("colwise", "colwise_gather_output")
PARTIAL = "replicated_with_grad_allreduce"
"""A weight that every process holds, but of whose gradient each has the part of its own heads. transformers sums it
after every micro-batch, which counts the first ones several times; here it is summed once, by `sum_partial`."""
TRIED = {*COLUMNS, "rowwise", "rowwise_split_input", "embedding_rowwise", PARTIAL}
"""The ways to split that have been compared with one process; those of experts and latent attention have not."""


def split(model: PreTrainedModel, mesh: DeviceMesh) -> None:
    """Split every layer that the plan names, in place. mesh: one-dimensional.

    Raises Failure `layout.no_tensor_plan` for a model that transformers has no plan for, or one that has not been
    tried, and `layout.heads` for one whose heads cannot be shared out.
    """
    _require_heads(model.config, mesh.size())
    from transformers.distributed.tensor_parallel import apply_tensor_parallelism

    plan = _plan(model)
    if not plan or not TRIED.issuperset(plan.values()):
        raise Failure("layout.no_tensor_plan", "train.layout.tensor_parallel_size", model=type(model).__name__)
    apply_tensor_parallelism(model, mesh, plan)
    if model.config.tie_word_embeddings:
        _tie(model)


def sum_partial(piece: nn.Module, group: dist.ProcessGroup) -> None:
    """Add up, over tensor-parallel peers, the gradients that each has a part of."""
    for module in piece.modules():
        if getattr(module, "partial_gradient", False):
            for weight in module.parameters(recurse=False):
                if weight.grad is not None:
                    dist.all_reduce(local(weight.grad), group=group)


def local(tensor: Tensor) -> Tensor:
    """The part of a tensor that this process holds."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _require_heads(config: Any, size: int) -> None:
    heads = config.num_attention_heads
    key_value = getattr(config, "num_key_value_heads", None) or heads
    if heads % size or key_value % size:
        sizes = {"tensor_parallel_size": size, "heads": heads, "key_value_heads": key_value}
        raise Failure("layout.heads", "train.layout.tensor_parallel_size", "user", **sizes)


def _tie(model: PreTrainedModel) -> None:
    """Embedding and head share one parameter; splitting has put another one into the embedding."""
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    if isinstance(embedding, nn.Embedding) and isinstance(head, nn.Linear):
        head.weight = embedding.weight


def _plan(model: PreTrainedModel) -> dict[str, str]:
    """Full name of each parameter and module → how it is split; the parameters of a module come before it."""
    from transformers.distributed.parallel_utils import _get_parameter_plan

    general = {name: style for name, style in model.tp_plan.items() if name != "lm_head"}
    if not model.config.tie_word_embeddings:
        general["lm_head"] = "colwise"
    found: dict[str, str] = {}
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            found |= _adapted(name, module, _get_parameter_plan(name, general, is_weight=False))
            continue
        if isinstance(model.get_submodule(name.rpartition(".")[0]), LoraLinear):
            continue
        style = _get_parameter_plan(name, general, is_weight=False)
        for own, _ in module.named_parameters(recurse=False):
            full = f"{name}.{own}"
            if wanted := _get_parameter_plan(full, general, is_weight=True):
                found[full] = wanted
        if style == PARTIAL:
            module.partial_gradient = True
        elif style is not None and not isinstance(module, nn.Identity):
            found[name] = style
    return found


def _adapted(name: str, module: LoraLinear, style: str | None) -> dict[str, str]:
    """An adapter is split like its layer: B by columns beside a layer of columns, A by rows beside one of rows."""
    if style is None:
        return {}
    partner = "lora_B" if style in COLUMNS else "lora_A"
    names: dict[str, str] = {}
    for part in ("base", partner):
        child: Any = module.get_submodule(part)
        names |= {f"{name}.{part}.{own}": style for own, _ in child.named_parameters(recurse=False)}
        names[f"{name}.{part}"] = style
    return names
