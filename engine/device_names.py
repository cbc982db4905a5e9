"""What a device is called outside our own code: by torch, by its collective library and in the environment.

Sources: torch's documents for CUDA; for Ascend CANN's list of environment variables (8.0 to 8.5) and the names that
torch_npu 2.13's libraries read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["cpu", "cuda", "npu"]
"""torch's name of the device type."""

HCCL_PORT = "HCCL_IF_BASE_PORT"
HCCL_FIRST_PORT = 60000
HCCL_PORTS = 16
"""HCCL listens on so many ports of the host, from HCCL_IF_BASE_PORT on (60000 where nothing is said)."""
HCCL_LAST_PORT = 65520
"""The most that HCCL takes."""


@dataclass(frozen=True)
class DeviceNames:
    """The names of one kind of device."""

    kind: Kind
    backend: str
    """Of torch.distributed, for tensors on the device."""
    visible_devices: str | None = None
    """Limits a process to some devices; inside, they count from 0."""
    interfaces: tuple[str, ...] = ("GLOO_SOCKET_IFNAME",)
    """Each names the network interface that one collective library uses."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """What a training wants to find in its environment, unless the site has said otherwise."""


NAMES: dict[Kind, DeviceNames] = {
    "cpu": DeviceNames(kind="cpu", backend="gloo"),
    "cuda": DeviceNames(
        kind="cuda",
        backend="nccl",
        visible_devices="CUDA_VISIBLE_DEVICES",
        interfaces=("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"),
        defaults={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    ),
    "npu": DeviceNames(
        kind="npu",
        backend="hccl",
        visible_devices="ASCEND_RT_VISIBLE_DEVICES",
        interfaces=("HCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"),
        defaults={
            "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",  # else long trainings die of fragmentation
            "HCCL_CONNECT_TIMEOUT": "1800",  # seconds; the default of 120 is too short for a slow rank
            "HCCL_EXEC_TIMEOUT": "2160",  # the others wait so long for the one that saves
        },
    ),
}
_ALLOCATOR = "PYTORCH_ALLOC_CONF"
"""torch's newer name for all devices; torch_npu refuses to find both."""


def kind_of(hardware: str) -> Kind:
    """The kind of a row of the hardware table; whatever is neither a CPU nor CUDA is an Ascend."""
    return {"cpu": NAMES["cpu"], "cuda": NAMES["cuda"]}.get(hardware, NAMES["npu"]).kind


def shown(kind: Kind, devices: Iterable[int], first_port: int = HCCL_FIRST_PORT) -> dict[str, str]:
    """The environment that keeps a process, and the ports of its host, to some of the node's devices.

    Trainings beside each other have no device in common, so the lowest gives each HCCL ports of its own, counted from
    `first_port` on.
    """
    variable, chosen = NAMES[kind].visible_devices, sorted(devices)
    if variable is None:
        return {}
    own = {variable: ",".join(str(device) for device in chosen)}
    if kind == "npu" and chosen:
        own[HCCL_PORT] = str(min(first_port + HCCL_PORTS * chosen[0], HCCL_LAST_PORT))
    return own


def defaults(kind: Kind, environment: Mapping[str, str], interface: str | None = None) -> dict[str, str]:
    """What is to be added to `environment` for a training; what stands there already is left as it is."""
    wanted = dict(NAMES[kind].defaults)
    if interface is not None:
        wanted |= dict.fromkeys(NAMES[kind].interfaces, interface)
    return {
        name: value
        for name, value in wanted.items()
        if name not in environment and not (name.endswith("_ALLOC_CONF") and _ALLOCATOR in environment)
    }
