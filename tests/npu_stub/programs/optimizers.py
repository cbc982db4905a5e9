"""torch's AdamW and torch_npu's NpuFusedAdamW on one device, against torch's on the CPU."""

from __future__ import annotations

import json
from typing import Any

import torch

from tests.npu_stub import stand_in

stand_in.install()

import torch_npu  # noqa: E402

STEPS, RATE = 5, 1e-2


def parameters(kind: Any, device: str, in_place: bool) -> list[torch.Tensor]:
    """A parameter after each step. in_place: whether gradients are written into the tensor of the first step."""
    generator = torch.Generator().manual_seed(3)
    parameter = torch.nn.Parameter(torch.randn(33, 7, generator=generator).to(device))
    optimizer = kind([parameter], lr=RATE, weight_decay=0.1)
    found = []
    for _ in range(STEPS):
        gradient = torch.randn(33, 7, generator=generator).to(device)
        if in_place and parameter.grad is not None:
            parameter.grad.copy_(gradient)
        else:
            parameter.grad = gradient
        optimizer.step()
        found.append(parameter.detach().cpu().clone())
    return found


def errors(kind: Any, in_place: bool) -> list[float]:
    wanted = parameters(torch.optim.AdamW, "cpu", in_place)
    found = parameters(kind, "npu", in_place)
    return [float((one - other).abs().max()) for one, other in zip(wanted, found, strict=True)]


def main() -> dict[str, list[float]]:
    fused = torch_npu.optim.NpuFusedAdamW
    return {
        "torch, new gradients": errors(torch.optim.AdamW, in_place=False),
        "torch, in place": errors(torch.optim.AdamW, in_place=True),
        "fused, new gradients": errors(fused, in_place=False),
        "fused, in place": errors(fused, in_place=True),
    }


if __name__ == "__main__":
    print(json.dumps(main()))
