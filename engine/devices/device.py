"""`Device`: what a training asks of the device it runs on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from engine.device_names import NAMES, DeviceNames, Kind
from engine.devices import plain
from engine.devices.operators import Operators


@dataclass(frozen=True)
class Memory:
    """Bytes of one device. Allocated: in tensors; reserved: taken from the device by torch, tensors included."""

    allocated: int
    peak_allocated: int
    reserved: int
    peak_reserved: int
    free: int
    """Of the whole device, whoever holds the rest."""
    total: int


class Device(ABC):
    """One device of this process; `index` counts among those that the process can see."""

    kind: Kind

    def __init__(self, index: int = 0) -> None:
        self.index = index

    @property
    def names(self) -> DeviceNames:
        return NAMES[self.kind]

    @property
    @abstractmethod
    def torch_device(self) -> torch.device:
        """For `.to(…)` and `device=…`."""

    @property
    def process_groups(self) -> str:
        """For `torch.distributed.init_process_group`. Tensors on the CPU always go through gloo, so that a figure can
        be added up without a visit to the device."""
        gloo = f"cpu:{NAMES['cpu'].backend}"
        return gloo if self.kind == "cpu" else f"{gloo},{self.kind}:{self.names.backend}"

    @abstractmethod
    def begin(self) -> None:
        """Make it the device of this process: collectives and new tensors go there."""

    @property
    def operators(self) -> Operators:
        """The fastest operators of this device; torch's own where it has no others."""
        return plain.OPERATORS

    @abstractmethod
    def synchronise(self) -> None:
        """Wait until the device has done all that was asked of it."""

    @abstractmethod
    def memory(self) -> Memory:
        """Now, and at its peak since `forget_peak`."""

    @abstractmethod
    def forget_peak(self) -> None:
        """Count the peaks from here on."""

    @abstractmethod
    def rng_state(self) -> torch.Tensor:
        """State of the generator of random numbers on this device: uint8 on the CPU."""

    @abstractmethod
    def set_rng_state(self, state: torch.Tensor) -> None:
        """Go on from a state of `rng_state`."""

    @abstractmethod
    def computes_in(self, dtype: torch.dtype) -> bool:
        """Whether matrix products run in this type without being emulated."""


class Accelerator(Device):
    """A device that torch reaches through `torch.accelerator`."""

    @property
    def torch_device(self) -> torch.device:
        return torch.device(self.kind, self.index)

    def begin(self) -> None:
        torch.accelerator.set_device_index(self.index)

    def synchronise(self) -> None:
        torch.accelerator.synchronize(self.index)

    def memory(self) -> Memory:
        free, total = torch.accelerator.get_memory_info(self.index)
        return Memory(
            allocated=torch.accelerator.memory_allocated(self.index),
            peak_allocated=torch.accelerator.max_memory_allocated(self.index),
            reserved=torch.accelerator.memory_reserved(self.index),
            peak_reserved=torch.accelerator.max_memory_reserved(self.index),
            free=free,
            total=total,
        )

    def forget_peak(self) -> None:
        torch.accelerator.reset_peak_memory_stats(self.index)

    def rng_state(self) -> torch.Tensor:
        state: torch.Tensor = torch.get_device_module(self.torch_device).get_rng_state(self.torch_device)
        return state

    def set_rng_state(self, state: torch.Tensor) -> None:
        torch.get_device_module(self.torch_device).set_rng_state(state, self.torch_device)
