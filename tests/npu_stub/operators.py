"""Reference bodies of the fused operators, under torch_npu's real schemas and autograd. Written from Huawei's
documents of each operator, and sharing nothing with `engine.devices`."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import silu

from tests.npu_stub.device import implement, vector_jacobian

COMPRESSED = (2048, 2048)
"""The one shape that a causal mask may have in the compressed modes, whatever the length."""
CAUSAL_FROM_TOP, CAUSAL_FROM_BOTTOM = 2, 3


def install() -> None:
    library = torch.library.Library("npu", "IMPL")
    bodies = {
        "npu_fusion_attention": fusion_attention,
        "npu_fusion_attention_grad": _fusion_attention_backward,
        "npu_rms_norm": rms_norm,
        "npu_rms_norm_backward": _rms_norm_backward,
        "npu_rotary_mul": rotary_mul,
        "npu_rotary_mul_backward": _rotary_mul_backward,
        "npu_swiglu": swiglu,
        "npu_swiglu_backward": _swiglu_backward,
    }
    for name, body in bodies.items():
        implement(library, name, body)


def fusion_attention(query: Any, key: Any, value: Any, head_num: int, input_layout: str, pse: Any = None,
                     padding_mask: Any = None, atten_mask: Any = None, scale: float = 1.0, keep_prob: float = 1.0,
                     pre_tockens: int = 2147483647, next_tockens: int = 2147483647, inner_precise: int = 0,
                     prefix: Any = None, actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None,
                     sparse_mode: int = 0, *_: Any, **__: Any) -> Any:  # fmt: skip
    _require(query, key, value, head_num, input_layout, atten_mask, sparse_mode)
    if keep_prob != 1.0:
        raise RuntimeError("the stand-in has no dropout")
    ends = (actual_seq_qlen, actual_seq_kvlen)
    result = _attention(query, key, value, head_num, input_layout, atten_mask, scale, sparse_mode, ends).contiguous()
    softmax = torch.zeros(1, head_num, 1, 8)
    return result, softmax, softmax.clone(), torch.empty(0, dtype=query.dtype), 0, 0, 0


def _fusion_attention_backward(query: Any, key: Any, value: Any, dy: Any, head_num: int, input_layout: str, *,
                               atten_mask: Any = None, scale_value: float = 1.0, actual_seq_qlen: Any = None,
                               actual_seq_kvlen: Any = None, sparse_mode: int = 0, **_: Any) -> Any:  # fmt: skip
    def forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        ends = (actual_seq_qlen, actual_seq_kvlen)
        return _attention(q, k, v, head_num, input_layout, atten_mask, scale_value, sparse_mode, ends)

    return (*vector_jacobian(forward, (query, key, value), dy), torch.empty(0), torch.empty(0))


def _require(query: Any, key: Any, value: Any, heads: int, layout: str, mask: Any, mode: int) -> None:
    """What the operator's document asks of its arguments."""
    if query.dtype != key.dtype or key.dtype != value.dtype:
        raise RuntimeError(f"query, key and value differ: {query.dtype}, {key.dtype}, {value.dtype}")
    if mask is not None and mask.dtype not in (torch.bool, torch.uint8):
        raise RuntimeError(f"atten_mask is {mask.dtype}")
    if mode in (CAUSAL_FROM_TOP, CAUSAL_FROM_BOTTOM) and (mask is None or tuple(mask.shape) != COMPRESSED):
        raise RuntimeError(f"sparse_mode {mode} wants the compressed mask of {COMPRESSED}")
    place = {"BNSD": 1, "BSND": 2, "TND": 1}.get(layout)
    if place is not None and query.shape[place] != heads:
        raise RuntimeError(f"{tuple(query.shape)} has not {heads} heads where {layout} says")


def _attention(query: Any, key: Any, value: Any, heads: int, layout: str, mask: Any, scale: float, mode: int,
               ends: Any) -> torch.Tensor:  # fmt: skip
    if layout == "TND":
        return _by_sequence(query, key, value, heads, mask, scale, mode, ends)
    to_heads_first = {"BNSD": lambda x: x, "BSND": lambda x: x.transpose(1, 2)}[layout]
    q, k, v = (to_heads_first(x).float() for x in (query, key, value))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = (q @ k.transpose(-1, -2) * scale).masked_fill(_hidden(q.shape[2], k.shape[2], mask, mode), float("-inf"))
    return to_heads_first((scores.softmax(-1) @ v).to(query.dtype))


def _by_sequence(query: Any, key: Any, value: Any, heads: int, mask: Any, scale: float, mode: int, ends: Any) -> Any:
    parts, begin = [], (0, 0)
    for end in zip(*ends, strict=True):
        q, k, v = query[begin[0] : end[0]], key[begin[1] : end[1]], value[begin[1] : end[1]]
        parts.append(_attention(q[None], k[None], v[None], heads, "BSND", mask, scale, mode, None)[0])
        begin = end
    return torch.cat(parts)


def _hidden(queries: int, keys: int, mask: Any, mode: int) -> torch.Tensor:
    """True where a query may not look: [queries, keys], or of the mask's own shape."""
    if mode in (CAUSAL_FROM_TOP, CAUSAL_FROM_BOTTOM):
        shift = keys - queries if mode == CAUSAL_FROM_BOTTOM else 0
        return torch.ones(queries, keys, dtype=torch.bool).triu(1 + shift)
    return torch.zeros(queries, keys, dtype=torch.bool) if mask is None else mask.bool()


def rms_norm(value: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    rstd = torch.rsqrt(value.float().square().mean(-1, keepdim=True) + epsilon)
    return (value.float() * rstd * gamma.float()).to(value.dtype), rstd


def _rms_norm_backward(dy: Any, value: Any, gamma: Any, rstd: Any) -> Any:
    """By hand: dx = rstd (dy gamma - x̂ mean(dy gamma x̂)), dgamma = Σ dy x̂, with x̂ = x rstd."""
    normal, scaled = value.float() * rstd, dy.float() * gamma.float()
    dx = rstd * (scaled - normal * (scaled * normal).mean(-1, keepdim=True))
    return dx.to(value.dtype), (dy.float() * normal).flatten(0, -2).sum(0)


def rotary_mul(value: Any, r1: Any, r2: Any, rotary_mode: str = "half", rotate: Any = None) -> Any:
    if value.dtype != r1.dtype or value.dim() != 4 or r1.dim() != 4:
        raise RuntimeError(f"npu_rotary_mul wants four dimensions of one type: {value.dtype}, {r1.dtype}")
    if rotary_mode != "half":
        raise RuntimeError(f"the stand-in has no rotary mode {rotary_mode}")
    left, right = value.chunk(2, -1)
    return value * r1 + torch.cat((-right, left), -1) * r2


def _rotary_mul_backward(gradient: Any, value: Any, r1: Any, r2: Any, *_: Any, **__: Any) -> Any:
    return vector_jacobian(rotary_mul, (value, r1, r2), gradient)


def swiglu(value: Any, dim: int = -1) -> Any:
    gate, up = value.chunk(2, dim)
    return silu(gate) * up


def _swiglu_backward(gradient: Any, value: Any, dim: int = -1) -> Any:
    return vector_jacobian(lambda x: swiglu(x, dim), (value,), gradient)[0]
