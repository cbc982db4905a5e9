"""Whether a device computes as the CPU does: its operators, a tiny training, its collectives."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

from engine.devices.cpu import CpuDevice
from engine.devices.device import Device
from engine.devices.fusing import use_operators
from engine.devices.plain import OPERATORS
from engine.devices.precision import DTYPES, Name, Precision

LIMITS: dict[Name, float] = {"fp32": 1e-3, "bf16": 3e-2, "fp16": 5e-3}
"""As a share of the largest number. Wider than rounding alone: a device may add up in another order."""
ROWS, HEADS, GROUPS, LENGTH, WIDTH = 2, 8, 2, 96, 64
ENDS = (31, LENGTH, LENGTH + 40, 2 * LENGTH)
WAYS = {"ends": " by sequence", "allowed": " by mask"}
MEASURED: tuple[Name, ...] = ("fp32", "bf16")
ITERATIONS = 10
LARGE = 64 << 20
"""Bytes of the tensor whose sum is timed."""


@dataclass(frozen=True)
class Finding:
    """One comparison: the difference and the most that is allowed."""

    what: str
    difference: float
    limit: float
    note: str = ""

    @property
    def right(self) -> bool:
        return self.difference <= self.limit  # a NaN is not

    def __str__(self) -> str:
        verdict = "ok" if self.right else "WRONG"
        return f"{verdict:5s} {self.what:44s} {self.difference:.1e} (at most {self.limit:.0e}) {self.note}".rstrip()


def operators(device: Device) -> Iterator[Finding]:
    """Each of the device's operators against torch's on the CPU in fp32, forward and backward."""
    for name, dtype in DTYPES.items():
        if device.computes_in(dtype):
            for operator, shapes, options in _cases():
                what = operator + next((words for option, words in WAYS.items() if option in options), "")
                yield Finding(f"{what} in {name}", _difference(device, operator, shapes, options, dtype), LIMITS[name])


def training(device: Device) -> Iterator[Finding]:
    """Losses of a tiny Llama on the device against the CPU's, with torch's operators and with the device's own."""
    for fused in (False, True) if device.operators.fused else (False,):
        words = "its own operators" if fused else "torch's operators"
        for name in MEASURED:
            wanted, found = _losses(CpuDevice(), name, False), _losses(device, name, fused)
            difference = max(abs(one - other) / one for one, other in zip(wanted, found, strict=True))
            note = f"loss {found[0]:.4f} -> {found[-1]:.4f}"
            yield Finding(f"{ITERATIONS} iterations in {name}, {words}", difference, LIMITS[name], note)


def collectives(device: Device) -> Iterator[Finding]:
    """Sums over the processes of the group, which exists; and how fast a large one is."""
    size, rank = dist.get_world_size(), dist.get_rank()
    for where in (device.torch_device, torch.device("cpu")):
        tensor = torch.full((1000,), rank + 1.0, device=where)
        dist.all_reduce(tensor)
        wanted = size * (size + 1) / 2
        yield Finding(f"sum over {size} processes on {where.type}", float((tensor.cpu() - wanted).abs().max()), 0.0)
    large = torch.ones(LARGE // 4, device=device.torch_device)
    dist.all_reduce(large)  # the first one connects
    device.synchronise()
    started = time.perf_counter()
    dist.all_reduce(large)
    device.synchronise()
    speed = LARGE * 2 * (size - 1) / size / (time.perf_counter() - started) / 1e9
    wrong = float((large[:1].cpu() - size * size).abs().max())
    yield Finding(f"sum of {LARGE >> 20} MiB over {size} processes", wrong, 0.0, f"{speed:.2f} GB/s a device")


def _cases() -> Iterator[tuple[str, tuple[tuple[int, ...], ...], dict[str, Any]]]:
    """Operator, shapes of its tensors, other arguments."""
    attention = ((ROWS, HEADS, LENGTH, WIDTH), *[(ROWS, GROUPS, LENGTH, WIDTH)] * 2)
    yield "attention", attention, {"scale": WIDTH**-0.5}
    yield "attention", attention, {"scale": WIDTH**-0.5, "ends": ENDS}
    before = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool).tril()
    yield "attention", attention, {"scale": WIDTH**-0.5, "allowed": before & ~before.tril(-LENGTH // 2)}  # a window
    yield "rms_norm", ((ROWS, LENGTH, 128), (128,)), {"epsilon": 1e-5}
    yield "rotary", ((ROWS, HEADS, LENGTH, WIDTH), *[(1, 1, LENGTH, WIDTH)] * 2), {}
    yield "swiglu", ((ROWS, LENGTH, 256),), {}


def _difference(
    device: Device, operator: str, shapes: tuple[tuple[int, ...], ...], options: dict[str, Any], dtype: torch.dtype
) -> float:
    """The largest, of result and gradients, as a share of the largest number there. The same rounded inputs on both."""
    generator = torch.Generator().manual_seed(17)
    rounded = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    learnt = 1 if operator == "rotary" else len(rounded)  # nobody asks for the gradient of an angle
    ours = [value.float().clone() for value in rounded]
    theirs = [value.clone().to(device.torch_device) for value in rounded]
    for tensor in (*ours[:learnt], *theirs[:learnt]):
        tensor.requires_grad_()
    wanted = getattr(OPERATORS, operator)(*ours, **options)
    there = {key: value.to(device.torch_device) if key == "allowed" else value for key, value in options.items()}
    found = getattr(device.operators, operator)(*theirs, **there)
    gradient = torch.randn(wanted.shape, generator=generator).to(dtype)
    wanted.backward(gradient.float())
    found.backward(gradient.to(device.torch_device))
    gradients = [(one.grad, other.grad) for one, other in zip(ours[:learnt], theirs[:learnt], strict=True)]
    shares = [_share(one.detach(), other.detach().float().cpu()) for one, other in [(wanted, found), *gradients]]
    return max(shares) if all(share == share for share in shares) else float("nan")


def _share(wanted: torch.Tensor, found: torch.Tensor) -> float:
    return float((wanted - found).abs().max() / wanted.abs().max())


def _losses(device: Device, name: Name, fused: bool) -> list[float]:
    """Of a tiny random Llama that learns the same rows by heart, with torch's AdamW."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(23)
    config = LlamaConfig(
        vocab_size=256,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
    )
    model, way = LlamaForCausalLM(config).train(), Precision(name, device)
    if fused:
        use_operators(model, device.operators)
    model.to(device.torch_device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(256, (ROWS, LENGTH), generator=torch.Generator().manual_seed(29)).to(device.torch_device)
    found = []
    for _ in range(ITERATIONS):
        with way.autocast():
            logits = model(input_ids=ids, use_cache=False).logits
        loss = cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(float(loss.detach()))
    return found
