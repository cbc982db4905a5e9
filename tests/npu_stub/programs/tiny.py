"""Tiny models of several families, and a plain loop that trains one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn.functional import cross_entropy

SHAPE = {
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
}
ROWS, LENGTH, ITERATIONS = 2, 24, 4
PACKED = torch.stack((torch.cat((torch.arange(9), torch.arange(15))), torch.arange(LENGTH)))
"""Positions of two rows: two samples in the first, one in the second."""


def families() -> dict[str, Callable[[], Any]]:
    import transformers as t

    def model(kind: Any, config: Any) -> Callable[[], Any]:
        def made() -> Any:
            torch.manual_seed(7)
            return kind(copy.deepcopy(config)).train()

        return made

    return {
        "llama": model(t.LlamaForCausalLM, t.LlamaConfig(**SHAPE)),
        "qwen2": model(t.Qwen2ForCausalLM, t.Qwen2Config(**SHAPE)),
        "qwen3": model(t.Qwen3ForCausalLM, t.Qwen3Config(**SHAPE, head_dim=16)),
        "mistral": model(t.MistralForCausalLM, t.MistralConfig(**SHAPE, sliding_window=8)),
        "glm4": model(t.Glm4ForCausalLM, t.Glm4Config(**SHAPE, head_dim=16)),
    }


def batch(iteration: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(iteration)
    return torch.randint(1, SHAPE["vocab_size"], (ROWS, LENGTH), generator=generator)


def next_token_loss(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    return cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())


def losses(
    model: Any,
    device: torch.device | str,
    positions: torch.Tensor | None = None,
    around: Callable[[], AbstractContextManager[Any]] = nullcontext,
    rows: slice = slice(None),
) -> list[float]:
    """Of a few iterations with torch's AdamW; `model` is on the device already."""
    optimizer = torch.optim.AdamW(_groups(model), lr=1e-3)
    found = []
    where = None if positions is None else positions[rows].to(device)
    for iteration in range(ITERATIONS):
        ids = batch(iteration)[rows].to(device)
        with around():
            loss = next_token_loss(model(input_ids=ids, position_ids=where, use_cache=False).logits, ids)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(float(loss.detach()))
    return found


def _groups(model: Any) -> list[dict[str, Any]]:
    """A group for each class of parameters: on an accelerator AdamW works on a whole group at once (`foreach`), which
    refuses a distributed tensor beside a plain one."""
    groups: dict[type, list[Any]] = {}
    for parameter in model.parameters():
        if parameter.requires_grad:
            groups.setdefault(type(parameter.data), []).append(parameter)
    return [{"params": parameters} for parameters in groups.values()]
