"""Puts a device's fused operators into a model of transformers: other modules, nothing of the library changed.

What is replaced is proved first: a small module of the same class, with random weights on the CPU, must do what our
plain operator does. So a norm that adds one to its weight, or a rotary that turns other planes, keeps its own code.
Weights keep their names and places; call it before they are sharded, and before or after adapters are added.
"""

from __future__ import annotations

import copy
import inspect
from collections import Counter
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn

from engine.devices import attention, plain
from engine.devices.operators import Operators

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TOLERANCE = 1e-5
ROTARY = "apply_rotary_pos_emb"
"""The function that every family of transformers calls by this name from its attention."""
SMALL = {"hidden_size": 16, "intermediate_size": 24}


def use_operators(model: PreTrainedModel, operators: Operators) -> Counter[str]:
    """Change `model` in place; returns how many modules use each operator (none where nothing is fused)."""
    used: Counter[str] = Counter()
    if not operators.fused:
        return used
    model.set_attn_implementation(attention.register(operators))
    used["attention"] = sum(hasattr(layer, "is_causal") for layer in model.modules())
    proved: dict[type[nn.Module], str | None] = {}
    for name, module in list(model.named_modules()):
        kind = type(module)
        if kind not in proved:
            proved[kind] = _operator_of(module)
        operator = proved[kind]
        if operator is not None:
            _REPLACE[operator](model, name, module, operators)
            used[operator] += 1
    return used


class RmsNorm(nn.Module):
    """A norm of transformers with another operator inside."""

    def __init__(self, other: nn.Module, operators: Operators) -> None:
        super().__init__()
        self.weight = cast("nn.Parameter", other.weight)
        self.variance_epsilon = cast("float", other.variance_epsilon)
        self._operators = operators

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        return self._operators.rms_norm(hidden_states, self.weight, self.variance_epsilon)


class GatedMlp(nn.Module):
    """A gated MLP of transformers: its own linear layers under their own names, another operator between them."""

    def __init__(self, other: nn.Module, operators: Operators) -> None:
        super().__init__()
        for name, layer in other.named_children():
            self.add_module(name, layer)
        self.one_matrix = hasattr(other, "gate_up_proj")
        self._operators = operators

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        layers: Any = self  # by whatever class: adapters take the place of layers
        if self.one_matrix:
            both = layers.gate_up_proj(hidden_states)
        else:
            both = torch.cat((layers.gate_proj(hidden_states), layers.up_proj(hidden_states)), dim=-1)
        result: torch.Tensor = layers.down_proj(self._operators.swiglu(both))
        return result


def rotary(operators: Operators) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """A function to take the place of transformers' apply_rotary_pos_emb: query and key [B, N, S, D], cos [B, S, D]."""

    def apply(
        q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, unsqueeze_dim: int = 1
    ) -> tuple[torch.Tensor, torch.Tensor]:
        cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
        return operators.rotary(q, cos, sin), operators.rotary(k, cos, sin)

    return apply


def _operator_of(module: nn.Module) -> str | None:
    """The operator that modules of this class can use, by proof."""
    proofs = {"rms_norm": _is_rms_norm, "swiglu": _is_gated_mlp, "rotary": _turns_halves}
    with torch.random.fork_rng(devices=[]), torch.no_grad(), torch.device("cpu"):
        return next((name for name, proof in proofs.items() if proof(module)), None)


def _is_rms_norm(module: nn.Module) -> bool:
    if not hasattr(module, "variance_epsilon") or [name for name, _ in module.named_parameters()] != ["weight"]:
        return False
    small: Any = type(module)(SMALL["hidden_size"], eps=0.1)
    small.weight.normal_()
    return _same(small, RmsNorm(small, plain.OPERATORS))


def _is_gated_mlp(module: nn.Module) -> bool:
    layers = {name for name, layer in module.named_children() if any(True for _ in layer.parameters())}
    if layers not in ({"gate_proj", "up_proj", "down_proj"}, {"gate_up_proj", "down_proj"}):
        return False
    config = copy.deepcopy(getattr(module, "config", None))
    if config is None:
        return False
    for name, size in SMALL.items():
        setattr(config, name, size)
    small = type(module)(config)
    return _same(small, GatedMlp(small, plain.OPERATORS))


def _same(theirs: nn.Module, ours: nn.Module) -> bool:
    sample = torch.randn(3, SMALL["hidden_size"])
    return torch.allclose(theirs.float()(sample), ours.float()(sample), atol=TOLERANCE)


def _turns_halves(module: nn.Module) -> bool:
    forward = _forward(type(module))
    theirs = forward.__globals__.get(ROTARY) if ROTARY in forward.__code__.co_names else None
    if theirs is None:
        return False
    query, key = torch.randn(2, 4, 3, 8), torch.randn(2, 2, 3, 8)
    angle = torch.randn(2, 3, 4).repeat(1, 1, 2)  # transformers writes each angle twice
    turned = zip(
        theirs(query, key, angle.cos(), angle.sin()),
        rotary(plain.OPERATORS)(query, key, angle.cos(), angle.sin()),
        strict=True,
    )
    return all(torch.allclose(one, other, atol=TOLERANCE) for one, other in turned)


def _forward(kind: type[nn.Module]) -> FunctionType:
    return cast("FunctionType", inspect.unwrap(kind.forward))


def _replace_norm(model: nn.Module, name: str, module: nn.Module, operators: Operators) -> None:
    model.set_submodule(name, RmsNorm(module, operators))


def _replace_mlp(model: nn.Module, name: str, module: nn.Module, operators: Operators) -> None:
    model.set_submodule(name, GatedMlp(module, operators))


def _replace_rotary(model: nn.Module, name: str, module: nn.Module, operators: Operators) -> None:
    """Another class for this one attention: the same code of `forward`, in which the rotary's name means ours.

    Without the package `kernels`, which fetches code from a hub, transformers has no place to register one.
    """
    own = _forward(type(module))
    forward = FunctionType(
        own.__code__, {**own.__globals__, ROTARY: rotary(operators)}, own.__name__, own.__defaults__, own.__closure__
    )
    forward.__kwdefaults__ = own.__kwdefaults__
    module.__class__ = type(type(module).__name__, (type(module),), {"forward": forward})


_REPLACE: dict[str, Callable[[nn.Module, str, nn.Module, Operators], None]] = {
    "rms_norm": _replace_norm,
    "swiglu": _replace_mlp,
    "rotary": _replace_rotary,
}
