"""The fused operators against torch's on the CPU, forward and backward; and mistakes that must not go unnoticed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch

from tests.npu_stub import stand_in
from tests.npu_stub.device import CALLS

stand_in.install()

import torch_npu  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

from engine.devices.npu_operators import OPERATORS as FUSED  # noqa: E402
from engine.devices.plain import OPERATORS as PLAIN  # noqa: E402

ROWS, HEADS, GROUPS, LENGTH, WIDTH = 2, 8, 2, 40, 16
SCALE = WIDTH**-0.5
ENDS = (13, LENGTH, LENGTH + 1, 2 * LENGTH)


def values(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(11)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def attention_values(queries: int = LENGTH, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    keys = (ROWS, GROUPS, LENGTH, WIDTH)
    return values((ROWS, HEADS, queries, WIDTH), keys, keys, dtype=dtype)


def difference(name: str, inputs: list[torch.Tensor], **options: Any) -> float:
    """Between the fused operator on "npu" and the plain one on the CPU: the largest, of result and gradients, as a
    share of the largest number there."""
    ours = [value.clone().requires_grad_() for value in inputs]
    theirs = [value.clone().to("npu").requires_grad_() for value in inputs]
    on_npu = {key: value.to("npu") if isinstance(value, torch.Tensor) else value for key, value in options.items()}
    before = sum(count for called, count in CALLS.items() if called.startswith("npu_"))
    plain, fused = getattr(PLAIN, name)(*ours, **options), getattr(FUSED, name)(*theirs, **on_npu)
    assert sum(count for called, count in CALLS.items() if called.startswith("npu_")) > before
    (gradient,) = values(tuple(plain.shape), dtype=plain.dtype)
    plain.backward(gradient)
    fused.backward(gradient.to("npu"))
    pairs = [(plain, fused), *((one.grad, other.grad) for one, other in zip(ours, theirs, strict=True))]
    return max(_relative(one.detach().float(), other.detach().cpu().float()) for one, other in pairs)


def _relative(wanted: torch.Tensor, found: torch.Tensor) -> float:
    return float((wanted - found).abs().max() / wanted.abs().max())


def differences() -> dict[str, float]:
    some = torch.rand(ROWS, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(5)) < 0.5
    allowed = some | torch.eye(LENGTH, dtype=torch.bool)
    norm = [*values((3, 5, 32)), *values((32,))]
    turned = values((ROWS, HEADS, LENGTH, WIDTH), (1, 1, LENGTH, WIDTH), (1, 1, LENGTH, WIDTH))
    bf16 = attention_values(dtype=torch.bfloat16)
    return {
        "attention": difference("attention", attention_values(), scale=SCALE),
        "attention of the last queries": difference("attention", attention_values(7), scale=SCALE),
        "attention by sequence": difference("attention", attention_values(), scale=SCALE, ends=ENDS),
        "attention by mask": difference("attention", attention_values(), scale=SCALE, allowed=allowed),
        "attention by both": difference("attention", attention_values(), scale=SCALE, allowed=allowed, ends=ENDS),
        "attention in bf16": difference("attention", bf16, scale=SCALE),
        "rms_norm": difference("rms_norm", norm, epsilon=1e-5),
        "rotary": difference("rotary", turned),
        "swiglu": difference("swiglu", values((3, 5, 64))),
    }


def mistakes() -> dict[str, str]:
    """Each call of npu_fusion_attention → "same" as it should be, "differs", or the error that it raised."""
    q, k, v = (value.transpose(1, 2) for value in values(*[(1, 4, 32, WIDTH)] * 3))  # BSND
    wanted = scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=True).transpose(1, 2)
    above = torch.ones(32, 32, dtype=torch.bool).triu(1).to("npu")
    nq, nk, nv = (value.contiguous().to("npu") for value in (q, k, v))

    def call(key: torch.Tensor = nk, layout: str = "BSND", **options: Any) -> Callable[[], torch.Tensor]:
        options = {"scale": SCALE, **options}
        return lambda: torch_npu.npu_fusion_attention(nq, key, nv, 4, layout, **options)[0]

    calls = {
        "as it should be": call(atten_mask=above),
        "mask inverted": call(atten_mask=~above),
        "no scale": call(atten_mask=above, scale=1.0),
        "another layout's name": call(atten_mask=above, layout="BNSD"),
        "causal without the compressed mask": call(sparse_mode=2),
        "causal with a mask of its own length": call(sparse_mode=3, atten_mask=above),
        "unknown keyword": call(causal=True),
        "key left on the CPU": call(key=k, atten_mask=above),
        "key of another type": call(key=nk.half(), atten_mask=above),
        "sum of npu and CPU": lambda: nq + k,
    }
    return {name: judged(made, wanted) for name, made in calls.items()}


def judged(call: Callable[[], torch.Tensor], wanted: torch.Tensor) -> str:
    try:
        result = call().cpu()
    except (RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    return "same" if result.shape == wanted.shape and torch.allclose(result, wanted, atol=1e-5) else "differs"


if __name__ == "__main__":
    print(json.dumps({"differences": differences(), "mistakes": mistakes()}))
