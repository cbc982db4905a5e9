"""Rows of the minimum-device table for our own engine, which no page speaks of: by the memory model, and marked so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from engine.architecture import Architecture
from engine.catalog import Catalog, HardwareRow, MinDevicesRow
from engine.planner.fitting import counts, fits, smallest
from engine.planner.memory import Setting
from engine.planner.memory.constants import GIB
from engine.spec import LayoutRequest, LoraOptions

ESTIMATE = "estimate"
"""The source of such a row."""
HARDWARE = ("snt9b", "snt9b23", "cuda")
"""On a CPU each process shares the memory of its machine: the check estimates that by itself."""
ZERO_STAGES = (0, 1, 2, 3)


def with_estimates(catalog: Catalog) -> Catalog:
    """A catalog of printed rows alone, with the estimates beside them."""
    lengths = {row.seq_length for row in catalog.min_devices.values()}
    rows = (row for row in estimated_rows(catalog, lengths) if row.key not in catalog.min_devices)
    return replace(catalog, estimates={row.key: row for row in rows})


def estimated_rows(catalog: Catalog, lengths: Iterable[int]) -> Iterator[MinDevicesRow]:
    """A row for each model of the native framework, hardware of known memory, strategy and length that fits.

    lengths: the printed ones; one that a person adds to the table is no reason for a row of every model.
    devices: the fewest of one machine on which any ZeRO level fits, with a micro-batch of 1.
    """
    ordered = sorted(set(lengths))
    for hardware in (catalog.hardware[name] for name in HARDWARE if name in catalog.hardware):
        for model in catalog.models.values():
            shape = catalog.architectures.get(model.name)
            if shape is not None and "native" in model.frameworks and hardware.memory_gib is not None:
                yield from _rows(shape, hardware, ordered)


def _rows(shape: Architecture, hardware: HardwareRow, lengths: list[int]) -> Iterator[MinDevicesRow]:
    for strategy in ("full", "lora"):
        for length in lengths:
            row = _row(shape, hardware, strategy, length) if length <= shape.max_position_embeddings else None
            if row is not None:
                yield row


def _row(shape: Architecture, hardware: HardwareRow, strategy: str, seq_length: int) -> MinDevicesRow | None:
    setting = Setting(
        framework="native",
        shape=shape,
        seq_length=seq_length,
        micro_batch_size=1,
        lora_rank=LoraOptions().rank if strategy == "lora" else None,
        memory_gib=hardware.memory_gib,
    )
    for devices in (number for number in counts(hardware) if number <= hardware.devices_per_node):
        for stage in ZERO_STAGES if devices > 1 else (0,):
            if fits(setting, devices, _wish(stage)):
                return MinDevicesRow(
                    model=shape.model,
                    strategy=strategy,
                    seq_length=seq_length,
                    framework="native",
                    hardware=hardware.name,
                    devices=devices,
                    suspect="",
                    source=ESTIMATE,
                    note=_note(setting, devices, stage),
                    estimate=True,
                )
    return None


def _wish(zero_stage: int) -> LayoutRequest:
    return LayoutRequest(tensor_parallel_size=1, pipeline_parallel_size=1, zero_stage=zero_stage)


def _note(setting: Setting, devices: int, stage: int) -> str:
    found = smallest(setting, devices, _wish(stage))
    assert found is not None
    assert found.capacity is not None
    needed, capacity = found.breakdown.total / GIB, found.capacity / GIB
    return f"memory model: {needed:.1f} of {capacity:.1f} GiB a device, ZeRO stage {stage}, micro-batch 1"
