"""Installs the whole stand-in in this process. Import it before anything that uses the device."""

from __future__ import annotations

import warnings

warnings.filterwarnings("ignore", module="torch_npu")

import torch_npu  # noqa: E402, F401

from tests.npu_stub import device, hccl, operators  # noqa: E402


def install() -> None:
    device.install()
    operators.install()
    hccl.install()
