"""The operators that a device may have a fused form of. `plain` has them for all, `npu_operators` for Ascend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch


class Operators(Protocol):
    """Every operator differentiates, and gives the type of its first argument."""

    @property
    def fused(self) -> bool:
        """Whether they are worth another module in the model."""

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
        """Causal attention. query [B, N, S, D], key and value [B, K, T, D] with N a multiple of K → [B, N, S, D].

        With T > S the queries are the last ones. allowed: bool [B or 1, 1, S, T], True where a query may look, in the
        place of the causal mask. ends: where each of several sequences ends among the B x S positions, row by row; a
        query then sees its own sequence alone (S = T).
        """

    def rms_norm(self, value: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
        """value [..., H] divided by its root mean square over H, times weight [H]."""

    def rotary(self, value: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        """value [B, N, S, D] turned in the planes (i, i + D/2), with cos and sin [B or 1, 1, S, D]."""

    def swiglu(self, value: torch.Tensor) -> torch.Tensor:
        """value [..., 2 I], the gate before the rest → silu(gate) · rest [..., I]."""
