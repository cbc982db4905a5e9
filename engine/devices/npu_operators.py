"""The operators in torch_npu's fused form: npu_fusion_attention, npu_rms_norm, npu_rotary_mul, npu_swiglu.

In Huawei's documents of npu_fusion_attention a mask says True where a query may NOT look, a causal mask is always the
upper triangle of 2048 x 2048 whatever the length (sparse_mode 3: from the lower right corner), and TND is the layout of
sequences laid end to end. Limits of types and shapes are an NPU's to tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
import torch_npu

from engine.devices.plain import same_sequence

COMPRESSED = 2048
BY_MASK, CAUSAL = 0, 3


class NpuOperators:
    fused = True

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
        query, key = query.to(value.dtype), key.to(value.dtype)  # under autocast a rotary in fp32 makes them differ
        keep = 1.0 - dropout
        if ends is not None and allowed is None:
            return _end_to_end(query, key, value, tuple(ends), scale, keep)
        if ends is not None and allowed is not None:
            allowed = allowed & same_sequence(query.shape[0], query.shape[2], ends, query.device)
        return _row_by_row(query, key, value, allowed, scale, keep)

    def rms_norm(self, value: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
        result: torch.Tensor = torch_npu.npu_rms_norm(value, weight.to(value.dtype), epsilon=epsilon)[0]
        return result

    def rotary(self, value: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch_npu.npu_rotary_mul(value, cos.to(value.dtype), sin.to(value.dtype))
        return result

    def swiglu(self, value: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch_npu.npu_swiglu(value, dim=-1)
        return result


OPERATORS = NpuOperators()


@cache
def _triangle(device: torch.device) -> torch.Tensor:
    return torch.ones(COMPRESSED, COMPRESSED, dtype=torch.bool, device=device).triu(1)


def _end_to_end(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, ends: tuple[int, ...], scale: float, keep: float
) -> torch.Tensor:
    """The rows laid end to end, [B S, N, D]: sequences of any length cost what they are, and no mask is made."""
    rows, heads, length, _ = query.shape
    laid = [tensor.transpose(1, 2).flatten(0, 1) for tensor in (query, key, value)]
    result: torch.Tensor = torch_npu.npu_fusion_attention(
        *laid,
        heads,
        "TND",
        scale=scale,
        keep_prob=keep,
        atten_mask=_triangle(query.device),
        sparse_mode=CAUSAL,
        actual_seq_qlen=ends,
        actual_seq_kvlen=ends,
    )[0]
    return result.view(rows, length, heads, -1).transpose(1, 2)


def _row_by_row(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, allowed: torch.Tensor | None, scale: float, keep: float
) -> torch.Tensor:
    result: torch.Tensor = torch_npu.npu_fusion_attention(
        query,
        key,
        value,
        query.shape[1],
        "BNSD",
        scale=scale,
        keep_prob=keep,
        atten_mask=_triangle(query.device) if allowed is None else ~allowed,
        sparse_mode=CAUSAL if allowed is None else BY_MASK,
    )[0]
    return result
