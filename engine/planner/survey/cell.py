"""`Cell`: one setting of model, framework, hardware, strategy and length, with the devices that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.catalog import Catalog, ModelRow
from engine.frameworks import FOLDERS, description
from engine.plan import DeviceNeed
from engine.planner.answer import device_need, least
from engine.planner.ask import Ask
from engine.planner.rules import devices as device_rules
from engine.planner.rules import model as model_rules
from engine.planner.rules.memory import native_estimate
from engine.planner.shape import STAND_IN
from engine.problems import Problem
from engine.spec import LONGEST_SAMPLE, SHORTEST_SAMPLE, JobSpec

State = Literal["printed", "estimate", "unsupported", "never", "unknown"]
STRATEGIES = ("full", "lora")
LENGTHS = (4096, 8192, 16384, 32768, 65536, 131072)
"""Lengths that are looked at beside the printed ones, up to the model's longest."""


@dataclass(frozen=True)
class Cell:
    model: str
    framework: str
    hardware: str
    strategy: str
    seq_length: int
    need: DeviceNeed
    """What the check answers for this setting."""
    least: int | None
    """The smallest number of devices that the check accepts; null where there is none."""
    offered: bool = True
    """Does the framework take the model at all?"""
    step: int = 1
    """Devices are used in multiples of this."""
    memory_gib: float | None = None
    """Native: the estimate of what one process takes."""
    memory_unknown: bool = False
    """Is nothing estimated because the memory of the hardware, or the model's dimensions, are not known?"""

    @property
    def state(self) -> State:
        """printed: the table has a number; never: memory refuses every number; unknown: nothing is known."""
        if self.need.unsupported or not self.offered:
            return "unsupported"
        if self.need.table is not None:
            return "printed"
        if self.least is not None or self.memory_gib is not None:
            return "estimate"
        return "unknown" if self.memory_unknown else "never"

    @property
    def sensible(self) -> int:
        """Devices to ask for: the printed minimum, the safer number of a doubted one, else the recommended one."""
        need = self.need
        if self.least is None or need.table is None or need.suspect:
            return need.recommended or self.least or self.step
        return self.least

    def request(self, devices: int | None = None) -> dict[str, str | int]:
        """The fields that a form for this setting is filled in with, by path."""
        return {
            "model": self.model,
            "framework": self.framework,
            "hardware": self.hardware,
            "devices": devices or self.sensible,
            "train.strategy": self.strategy,
            "train.seq_length": self.seq_length,
        }


def ask_of(
    catalog: Catalog, model: str, framework: str, hardware: str, strategy: str, length: int, devices: int = 1
) -> Ask:
    train = {**STAND_IN["train"], "strategy": strategy, "seq_length": length}
    named = {"model": model, "framework": framework, "hardware": hardware, "devices": devices}
    return Ask(JobSpec.model_validate({**STAND_IN, **named, "train": train}), catalog)


def unknown(catalog: Catalog, *, model: str | None = None, hardware: str | None = None) -> Problem | None:
    """What the check says of a name that is not in the catalog."""
    if model is not None and model not in catalog.models:
        return model_rules.not_known(catalog, model)
    if hardware is not None and hardware not in catalog.hardware:
        return device_rules.not_known(catalog, hardware)
    return None


def cell_of(ask: Ask) -> Cell:
    spec, need = ask.spec, device_need(ask)
    found = native_estimate(ask, spec.devices) if spec.framework == "native" else None
    needed = None if found is None else found.parameters["needed"]
    return Cell(
        model=spec.model,
        framework=spec.framework,
        hardware=spec.hardware,
        strategy=spec.train.strategy,
        seq_length=spec.train.seq_length,
        need=need,
        least=1 if spec.framework == "native" else least(ask, need),
        offered=ask.model is None or spec.framework in ask.model.frameworks,
        step=1 if ask.hardware is None else ask.hardware.device_step,
        memory_gib=needed if isinstance(needed, float) else None,
        memory_unknown=ask.shape is None or ask.hardware is None or ask.hardware.memory_gib is None,
    )


def lengths_of(catalog: Catalog, model: ModelRow) -> list[int]:
    """Printed lengths and LENGTHS up to the model's longest; that one alone where it is shorter than all. Of a length
    that no request can have there is nothing to ask."""
    longest = model.max_position_embeddings
    printed = {row.seq_length for row in catalog.min_devices.values() if row.model == model.name}
    usual = {length for length in LENGTHS if longest is None or length <= longest}
    found = printed | usual or {longest or LENGTHS[0]}
    return sorted(length for length in found if SHORTEST_SAMPLE <= length <= LONGEST_SAMPLE)


def places(catalog: Catalog) -> list[tuple[str, str]]:
    """Every framework with every hardware that it runs on and the catalog knows.

    Not those of the tables on a CPU, where they are only tried out.
    """
    known = [description(name) for name in FOLDERS]
    found = [
        (one.name, hardware) for one in known for hardware in one.hardware if not (one.table and hardware == "cpu")
    ]
    vendors_first = sorted(found, key=lambda place: place[0] == "native")
    return [(name, hardware) for name, hardware in vendors_first if hardware in catalog.hardware]
