"""Tiny models trained on the CPU, on device "npu" as transformers has them, and with the fused operators."""

from __future__ import annotations

import json
from typing import Any

from tests.npu_stub import stand_in
from tests.npu_stub.device import CALLS

stand_in.install()

from engine.devices.choosing import chosen  # noqa: E402
from engine.devices.device import Device  # noqa: E402
from engine.devices.fusing import use_operators  # noqa: E402
from engine.devices.precision import Precision  # noqa: E402
from engine.spec import LoraOptions  # noqa: E402
from engine.weights.lora import add_adapters  # noqa: E402
from tests.npu_stub.programs import tiny  # noqa: E402


def trained(make: Any, npu: Device, **options: Any) -> dict[str, Any]:
    """Three curves of one model, and what the fused one used."""
    before = CALLS.copy()
    model = make()
    used = use_operators(model, npu.operators)
    fused = tiny.losses(model.to(npu.torch_device), npu.torch_device, **options)
    calls = {name: count for name, count in (CALLS - before).items() if name.startswith("npu_")}
    plain = tiny.losses(make().to(npu.torch_device), npu.torch_device, **options)
    return {"cpu": tiny.losses(make(), "cpu", **options), "plain": plain, "fused": fused, "used": used, "calls": calls}


def with_adapters(make: Any) -> Any:
    def made() -> Any:
        model = make()
        add_adapters(model, LoraOptions(rank=4, alpha=8))
        return model

    return made


def in_bf16(make: Any, npu: Device) -> dict[str, Any]:
    from engine.devices.cpu import CpuDevice

    on_npu, on_cpu = Precision("bf16", npu), Precision("bf16", CpuDevice())
    model = make()
    use_operators(model, npu.operators)
    fused = tiny.losses(model.to(npu.torch_device), npu.torch_device, around=on_npu.autocast)
    return {"cpu": tiny.losses(make(), "cpu", around=on_cpu.autocast), "fused": fused}


def main() -> dict[str, Any]:
    npu = chosen("snt9b", local_rank=3)
    found: dict[str, Any] = {"device": str(npu.torch_device), "before": npu.memory().allocated}
    npu.forget_peak()
    families = tiny.families()
    for name, make in families.items():
        found[name] = trained(make, npu)
        found[f"{name} packed"] = trained(make, npu, positions=tiny.PACKED)
    found["lora"] = trained(with_adapters(families["llama"]), npu)
    found["bf16"] = in_bf16(families["llama"], npu)
    memory = npu.memory()
    found["peak"], found["reserved"], found["total"] = memory.peak_allocated, memory.peak_reserved, memory.total
    state = npu.rng_state()
    npu.set_rng_state(state)
    found["rng kept"] = bool((npu.rng_state() == state).all())
    return found


if __name__ == "__main__":
    print(json.dumps(main()))
