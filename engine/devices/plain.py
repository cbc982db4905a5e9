"""The operators in torch's own words: for any device, and the measure of the fused ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn.functional import scaled_dot_product_attention, silu


class Plain:
    fused = False

    def attention(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        scale: float,
        allowed: torch.Tensor | None = None,
        ends: Sequence[int] | None = None,
        dropout: float = 0.0,
    ) -> torch.Tensor:
        if ends is not None:
            within = same_sequence(query.shape[0], query.shape[2], ends, query.device)
            allowed = within if allowed is None else within & allowed
        elif allowed is None and query.shape[2] != key.shape[2]:
            allowed = causal(query.shape[2], key.shape[2], query.device)
        return scaled_dot_product_attention(
            query, key, value, attn_mask=allowed, dropout_p=dropout, is_causal=allowed is None, scale=scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )  # fmt: skip

    def rms_norm(self, value: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
        full = value.float()
        normal = full * torch.rsqrt(full.square().mean(-1, keepdim=True) + epsilon)
        return (normal * weight.float()).to(value.dtype)

    def rotary(self, value: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        left, right = value.chunk(2, -1)
        return value * cos.to(value.dtype) + torch.cat((-right, left), -1) * sin.to(value.dtype)

    def swiglu(self, value: torch.Tensor) -> torch.Tensor:
        gate, rest = value.chunk(2, -1)
        return silu(gate) * rest


OPERATORS = Plain()


def causal(queries: int, keys: int, device: torch.device) -> torch.Tensor:
    """bool [1, 1, queries, keys], True where a query may look: the queries are the last of the keys."""
    return torch.ones(1, 1, queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def same_sequence(rows: int, length: int, ends: Sequence[int], device: torch.device) -> torch.Tensor:
    """bool [rows, 1, length, length]: causal, and inside the sequences that end at `ends`, counted row by row."""
    bounds = torch.tensor(ends, device=device)
    number = torch.bucketize(torch.arange(rows * length, device=device), bounds, right=True).view(rows, length)
    own = number[:, None, :, None] == number[:, None, None, :]
    return own & causal(length, length, device)
