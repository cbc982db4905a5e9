"""The CPU: a process is a device. Its memory is what the process holds, tensors or not."""

from __future__ import annotations

from pathlib import Path

import torch

from engine.devices.device import Device, Memory

_STATUS = Path("/proc/self/status")
_MACHINE = Path("/proc/meminfo")
_FORGET = Path("/proc/self/clear_refs")
_FORGET_PEAK = "5"
"""proc(5): sets the peak of the resident size back to what it is now."""


class CpuDevice(Device):
    kind = "cpu"

    @property
    def torch_device(self) -> torch.device:
        return torch.device("cpu")

    def begin(self) -> None:
        """Every process has it already."""

    def synchronise(self) -> None:
        """Nothing to wait for: an operator has run when it returns."""

    def memory(self) -> Memory:
        """The resident size; torch's allocator on the CPU keeps no account of tensors."""
        process, machine = _fields(_STATUS), _fields(_MACHINE)
        now, peak = process["VmRSS"], process["VmHWM"]
        return Memory(now, peak, now, peak, free=machine["MemAvailable"], total=machine["MemTotal"])

    def forget_peak(self) -> None:
        _FORGET.write_text(_FORGET_PEAK, encoding="ascii")

    def rng_state(self) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor) -> None:
        torch.set_rng_state(state)

    def computes_in(self, dtype: torch.dtype) -> bool:
        """bf16 everywhere (slowly where the processor has no instruction for it); fp16 is not for training here."""
        return dtype in (torch.float32, torch.bfloat16)


def _fields(path: Path) -> dict[str, int]:
    """Lines such as `VmRSS:  123 kB`, in bytes."""
    lines = (line.split() for line in path.read_text(encoding="ascii", errors="replace").splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[2:] == ["kB"]}
