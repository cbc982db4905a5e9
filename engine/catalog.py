"""`Catalog`: the resource tables as frozen values.

From the database in production (`jobs.catalog`), from `engine/tables/*.csv` in tests and on the
command line. Columns are renamed once, here at the loading edge: `seq_len` → `seq_length`,
`cards` → `devices`. Numbers are kept as printed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

TABLES = Path(__file__).parent / "tables"


@dataclass(frozen=True, kw_only=True)
class HardwareRow:
    """One kind of machine. `devices_per_node` counts schedulable units."""

    name: str
    cards_per_node: int
    dies_per_card: int
    devices_per_node: int
    device_step: int
    """Devices are used in multiples of this (2 on Snt9B23: two DIE are one card)."""
    memory_gib: float | None
    source: str
    note: str


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    family: str
    name: str
    params: str
    hf_repo_id: str
    revision: str
    template: str
    multimodal: bool
    frameworks: tuple[str, ...]
    status: str
    max_position_embeddings: int | None
    num_attention_heads: int | None
    num_key_value_heads: int | None
    num_hidden_layers: int | None
    vocab_size: int | None
    total_params: int | None
    source: str
    note: str
    architecture: str = ""
    """Class name in config.json, such as LlamaForCausalLM; empty if not known."""


@dataclass(frozen=True, kw_only=True)
class MinDevicesRow:
    """A cell of the minimum-device table. `devices` is null where the page prints "-": unsupported."""

    model: str
    strategy: str
    seq_length: int
    framework: str
    hardware: str
    devices: int | None
    suspect: str
    """Why the printed number is doubted; empty if it is not."""
    source: str
    note: str

    @property
    def key(self) -> MinDevicesKey:
        return (self.model, self.strategy, self.seq_length, self.framework, self.hardware)


MinDevicesKey = tuple[str, str, int, str, str]


@dataclass(frozen=True)
class Catalog:
    """All tables, keyed for look-up."""

    hardware: Mapping[str, HardwareRow]
    models: Mapping[str, ModelRow]
    min_devices: Mapping[MinDevicesKey, MinDevicesRow] = field(repr=False)

    def min_devices_of(self, model: str, framework: str, hardware: str) -> Iterator[MinDevicesRow]:
        """Every row of one model on one framework and hardware, over strategies and lengths."""
        for row in self.min_devices.values():
            if (row.model, row.framework, row.hardware) == (model, framework, hardware):
                yield row


def rows(folder: Path, table: str) -> list[dict[str, str]]:
    """The rows of one CSV table, as strings."""
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@lru_cache(maxsize=8)
def load(folder: Path = TABLES) -> Catalog:
    """Read the tables from CSV files.

    Raises FileNotFoundError when a table is missing and ValueError, naming file and line, when a
    number is not one.
    """
    from engine.tables_csv import hardware_rows, min_devices_rows, model_rows

    return Catalog(
        hardware={row.name: row for row in hardware_rows(folder)},
        models={row.name: row for row in model_rows(folder)},
        min_devices={row.key: row for row in min_devices_rows(folder)},
    )
