"""The devices of this node: which there are, and how a process is kept to some of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from engine import device_names


def hardware() -> str:
    """A row of the hardware table: what TRAINYARD_HARDWARE says, else what is plugged in.

    The drivers do not say which Ascend it is: a node with Snt9B23 must be told so.
    """
    told = os.environ.get("TRAINYARD_HARDWARE")
    if told:
        return told
    if _cuda():
        return "cuda"
    return "snt9b" if _ascend() else "cpu"


def count() -> int:
    """How many devices this node offers: what TRAINYARD_DEVICES says, else what is plugged in, else CPU cores."""
    told = os.environ.get("TRAINYARD_DEVICES")
    if told:
        return int(told)
    return _cuda() or _ascend() or len(os.sched_getaffinity(0))


def only(name: str, devices: Iterable[int]) -> dict[str, str]:
    """The environment that shows a process on this hardware nothing but these devices."""
    first_port = int(os.environ.get(device_names.HCCL_PORT, device_names.HCCL_FIRST_PORT))
    return device_names.shown(device_names.kind_of(name), devices, first_port)


def _cuda() -> int:
    """NVIDIA's driver makes a folder for each card."""
    return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


def _ascend() -> int:
    """CANN's driver makes a device file for each; davinci_manager is not one of them."""
    return len(list(Path("/dev").glob("davinci[0-9]*")))
