"""Questions to the memory model, in few words."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from math import log2
from pathlib import Path

from engine.catalog import MinDevicesRow, load
from engine.planner.fitting import Need, need
from engine.planner.memory import Setting

CATALOG = load()
PUBLISHED = Path(__file__).parent / "published"


def setting(
    model: str, framework: str = "mindspeed-llm", strategy: str = "full", seq_length: int = 4096, micro: int = 1
) -> Setting:
    return Setting(
        framework=framework,
        shape=CATALOG.architectures[model],
        seq_length=seq_length,
        micro_batch_size=micro,
        lora_rank=8 if strategy == "lora" else None,
        memory_gib=64.0,
    )


def need_of(cell: MinDevicesRow, seq_length: int) -> Need:
    question = setting(cell.model, cell.framework, cell.strategy, seq_length)
    return need(question, CATALOG.hardware[cell.hardware])


def numeric_cells() -> list[MinDevicesRow]:
    return [cell for cell in CATALOG.min_devices.values() if cell.devices is not None]


def longest_of_cell(cell: MinDevicesRow) -> int:
    """A cell that is printed once for 4096 and 8192 has to serve both."""
    return 8192 if "seq cell reads 4096/8192" in cell.note else cell.seq_length


def steps(one: int, other: int) -> float:
    """How many doublings apart."""
    return abs(log2(one / other))


def published(name: str) -> Iterator[dict[str, str]]:
    with (PUBLISHED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
