"""An NVIDIA GPU. No GPU has run this yet."""

from __future__ import annotations

import torch

from engine.devices.device import Accelerator


class CudaDevice(Accelerator):
    """Needs no operators of its own: torch's attention and norm are fused there."""

    kind = "cuda"

    def computes_in(self, dtype: torch.dtype) -> bool:
        if dtype == torch.bfloat16:
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
        return dtype in (torch.float32, torch.float16)
