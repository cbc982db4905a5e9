"""The memory of one device that a job can use."""

from __future__ import annotations

from engine.planner.memory.constants import (
    CAPACITY_SHARE,
    COMMUNICATOR_GIB,
    CPU_RUNTIME_GIB,
    FRAGMENTATION,
    GIB,
    RUNTIME_GIB,
)
from engine.planner.memory.setting import Setting


def capacity(setting: Setting) -> float | None:
    """Bytes that the device reports; None if its memory is not known."""
    if setting.memory_gib is None:
        return None
    return setting.memory_gib * GIB * (1 if setting.on_cpu else CAPACITY_SHARE)


def overhead(setting: Setting, communicators: int) -> float:
    """Bytes that no tensor of the job can have: fragmentation, runtime, and communication buffers."""
    if setting.on_cpu:
        return CPU_RUNTIME_GIB * GIB
    fixed = (RUNTIME_GIB + COMMUNICATOR_GIB * communicators) * GIB
    return (capacity(setting) or 0.0) * FRAGMENTATION + fixed


def usable(setting: Setting, communicators: int) -> float | None:
    full = capacity(setting)
    return None if full is None else full - overhead(setting, communicators)
