"""An Ascend NPU, by torch_npu. No NPU has run this yet; `tests/npu_stub` runs it over a stand-in for CANN.

The optimizer is torch's AdamW. torch_npu's own NpuFusedAdamW keeps flat copies of the gradients that it makes at its
first step: once `.grad` is another tensor (and `zero_grad()`, as torch has it, makes it one), it goes on with the first
step's gradients and says nothing. A test shows it.
"""

from __future__ import annotations

from typing import Any

import torch

from engine.devices.device import Accelerator
from engine.devices.operators import Operators
from engine.failures import Failure


class NpuDevice(Accelerator):
    kind = "npu"

    def __init__(self, index: int = 0) -> None:
        _torch_npu()
        super().__init__(index)

    @property
    def operators(self) -> Operators:
        from engine.devices import npu_operators

        return npu_operators.OPERATORS

    def computes_in(self, dtype: torch.dtype) -> bool:
        if dtype == torch.bfloat16:
            return bool(_torch_npu().npu.is_bf16_supported())
        return dtype in (torch.float32, torch.float16)


def _torch_npu() -> Any:
    """The module. Raises Failure `device.no_torch_npu`: not installed, or CANN's libraries are not in sight."""
    try:
        import torch_npu
    except (ImportError, OSError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise Failure("device.no_torch_npu", "hardware", "software", reason=reason) from error
    return torch_npu
