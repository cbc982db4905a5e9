"""`Ask`: a request beside the table rows that it names. What every rule looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from engine.architecture import Architecture
from engine.catalog import Catalog, HardwareRow, MinDevicesKey, MinDevicesRow, ModelRow
from engine.frameworks import Description, description
from engine.problems import Problem
from engine.spec import JobSpec


@dataclass(frozen=True)
class Ask:
    """`spec` may hold stand-ins in fields of a wrong shape; a rule that reads such a field is not called."""

    spec: JobSpec
    catalog: Catalog

    @property
    def model(self) -> ModelRow | None:
        return self.catalog.models.get(self.spec.model)

    @property
    def hardware(self) -> HardwareRow | None:
        return self.catalog.hardware.get(self.spec.hardware)

    @property
    def shape(self) -> Architecture | None:
        """The model's dimensions, if they are known."""
        return self.catalog.architectures.get(self.spec.model)

    @cached_property
    def framework(self) -> Description:
        return description(self.spec.framework)

    @property
    def on_cpu(self) -> bool:
        """Processes on a CPU, or of our own engine."""
        return self.spec.framework == "native" or self.spec.hardware == "cpu"

    @property
    def cell(self) -> MinDevicesRow | None:
        """The printed row of the minimum-device table, if there is one."""
        return self.catalog.min_devices.get(self.cell_key)

    @property
    def estimate(self) -> MinDevicesRow | None:
        """The row that was estimated because none is printed, if there is one."""
        return self.catalog.estimates.get(self.cell_key)

    @property
    def cell_key(self) -> MinDevicesKey:
        spec = self.spec
        return (spec.model, spec.train.strategy, spec.train.seq_length, spec.framework, spec.hardware)

    @property
    def replicas(self) -> int | None:
        """Data-parallel size, where the request already fixes it; None where the planner would choose."""
        sizes: list[int | None] = [1]
        if self.framework.splits_models:
            layout = self.spec.train.layout
            native = self.spec.framework == "native"
            usual = 1 if native else None  # should more be chosen, it leaves fewer replicas, which divide the batch too
            sizes = [layout.tensor_parallel_size or usual, layout.pipeline_parallel_size or usual]
            sizes.append(1 if native else layout.context_parallel_size or 1)
        product = 1
        for size in sizes:
            if size is None:
                return None
            product *= size
        return self.spec.devices // product if self.spec.devices % product == 0 else None


@dataclass(frozen=True)
class Rule:
    """A function that finds problems, and the fields that must have the right shape for it to run."""

    find: Callable[[Ask], Iterator[Problem]]
    reads: tuple[str, ...]


CELL = ("model", "framework", "hardware", "train.strategy", "train.seq_length")
"""What names a row of the minimum-device table."""


def round_up(number: int, step: int) -> int:
    return -(-number // step) * step
