"""Under torchrun: data parallel, FSDP2 and tensor parallel on "npu" with fused operators, over the group named hccl."""

from __future__ import annotations

import json
import os
from typing import Any

import torch
import torch.distributed as dist

from tests.npu_stub import stand_in
from tests.npu_stub.device import CALLS

stand_in.install()

from torch.distributed.device_mesh import DeviceMesh, init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from engine.devices.choosing import chosen  # noqa: E402
from engine.devices.device import Device  # noqa: E402
from engine.devices.fusing import use_operators  # noqa: E402
from tests.npu_stub.programs import tiny  # noqa: E402

COLUMNS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj")
PLAN: dict[str, Any] = {
    **{name: ColwiseParallel() for name in COLUMNS},
    "self_attn.o_proj": RowwiseParallel(),
    "mlp.down_proj": RowwiseParallel(),
}


def fused_llama(npu: Device) -> Any:
    model = tiny.families()["llama"]()
    use_operators(model, npu.operators)
    return model.to(npu.torch_device)


def data_parallel(npu: Device, mesh: DeviceMesh) -> list[float]:
    return _mean(tiny.losses(DistributedDataParallel(fused_llama(npu)), npu.torch_device, rows=_own_row()))


def sharded(npu: Device, mesh: DeviceMesh) -> list[float]:
    model = fused_llama(npu)
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    return _mean(tiny.losses(fully_shard(model, mesh=mesh), npu.torch_device, rows=_own_row()))


def tensor_parallel(npu: Device, mesh: DeviceMesh) -> list[float]:
    model = fused_llama(npu)
    for layer in model.model.layers:
        parallelize_module(layer, mesh, PLAN)
    return _mean(tiny.losses(model, npu.torch_device))


def _own_row() -> slice:
    return slice(dist.get_rank(), dist.get_rank() + 1)


def _mean(losses: list[float]) -> list[float]:
    """Over the processes, by tensors on the CPU: gloo takes them beside hccl."""
    total = torch.tensor(losses, dtype=torch.float64)
    dist.all_reduce(total)
    return [float(value) / dist.get_world_size() for value in total]


def main() -> dict[str, Any]:
    npu = chosen("snt9b")
    dist.init_process_group(npu.process_groups)
    mesh = init_device_mesh(npu.kind, (dist.get_world_size(),))
    ways = {"data parallel": data_parallel, "sharded": sharded, "tensor parallel": tensor_parallel}
    found: dict[str, Any] = {name: way(npu, mesh) for name, way in ways.items()}
    found["one process"] = tiny.losses(tiny.families()["llama"](), "cpu")
    found["device"] = [str(npu.torch_device), os.environ["LOCAL_RANK"]]
    found["collectives"] = sum(count for name, count in CALLS.items() if name.startswith("hccl::"))
    dist.barrier()
    dist.destroy_process_group()
    return found


if __name__ == "__main__":
    result = main()
    if os.environ["RANK"] == "0":
        print(json.dumps(result))
