"""Which device this process computes on."""

from __future__ import annotations

import os

import torch

from engine.device_names import NAMES, kind_of
from engine.devices.cpu import CpuDevice
from engine.devices.cuda import CudaDevice
from engine.devices.device import Accelerator, Device
from engine.devices.npu import NpuDevice
from engine.failures import Failure

CLASSES: dict[str, type[Device]] = {"cpu": CpuDevice, "cuda": CudaDevice, "npu": NpuDevice}


def chosen(hardware: str, local_rank: int | None = None) -> Device:
    """The device of the process with this number on its machine (torchrun's LOCAL_RANK), made the current one.

    Raises Failure `device.no_torch_npu`, or `device.not_visible` when the process can see too few: whoever starts a
    run shows it exactly its own (`engine.device_names.shown`).
    """
    kind = kind_of(hardware)
    rank = int(os.environ.get("LOCAL_RANK", "0")) if local_rank is None else local_rank
    device = CLASSES[kind](rank)
    if isinstance(device, Accelerator):
        _require_visible(device)
    device.begin()
    return device


def _require_visible(device: Accelerator) -> None:
    present = torch.accelerator.current_accelerator(check_available=True)
    visible = torch.accelerator.device_count() if present is not None and present.type == device.kind else 0
    if device.index >= visible:
        variable = NAMES[device.kind].visible_devices or ""
        shown = os.environ.get(variable, "-")
        raise Failure(
            "device.not_visible", "devices", "software",
            wanted=device.index + 1, visible=visible, kind=device.kind, variable=variable, shown=shown,
        )  # fmt: skip
