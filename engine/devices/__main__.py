"""`python -m engine.devices HARDWARE`: what this machine's device can do, and whether it computes as the CPU does.

Under torchrun the collectives of all its processes too. Ends with 0 when all is right, with 1 when something is wrong,
with 2 when there is no such device. HARDWARE is a row of the hardware table: snt9b, snt9b23, cuda or cpu.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import torch
import torch.distributed as dist

from engine.devices import checking
from engine.devices.checking import Finding
from engine.devices.choosing import chosen
from engine.devices.device import Device
from engine.devices.precision import DTYPES
from engine.failures import Failure
from engine.problem_texts import message, remedy


def main(hardware: str) -> int:
    try:
        device = chosen(hardware)
    except Failure as failure:
        print(message(failure.problem, "en"), remedy(failure.problem, "en"), file=sys.stderr)
        return 2
    torch.set_num_threads(1)  # the CPU's part is small, and processes beside each other would wait for one another
    together = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if together:
        dist.init_process_group(device.process_groups)
    speaks = not together or dist.get_rank() == 0
    if speaks:
        print(description(device))
    right = True
    for finding in findings(device, together):
        right = right and finding.right
        if speaks or not finding.right:
            print(finding, flush=True)
    if speaks:
        print(f"peak memory {device.memory().peak_allocated / 2**20:.0f} MiB")
    if together:
        dist.destroy_process_group()
    return 0 if right else 1


def findings(device: Device, together: bool) -> Iterator[Finding]:
    yield from checking.operators(device)
    yield from checking.training(device)
    if together:
        yield from checking.collectives(device)


def description(device: Device) -> str:
    memory = device.memory()
    precisions = ", ".join(name for name, dtype in DTYPES.items() if device.computes_in(dtype))
    kind = "its own" if device.operators.fused else "torch's"
    return (
        f"{device.torch_device}, torch {torch.__version__}, groups {device.process_groups}\n"
        f"memory {memory.total / 2**30:.1f} GiB, free {memory.free / 2**30:.1f} GiB; precisions {precisions}; "
        f"operators: {kind}"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
