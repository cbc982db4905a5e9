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

from engine.architecture import Architecture

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
    estimate: bool = False
    """Is the number by the memory model, and not printed anywhere?"""

    @property
    def key(self) -> MinDevicesKey:
        return (self.model, self.strategy, self.seq_length, self.framework, self.hardware)


@dataclass(frozen=True, kw_only=True)
class ParallelConfigRow:
    """Tensor and pipeline size that the vendor recommends for a model and length with MindSpeed-LLM."""

    model: str
    seq_length: int
    tensor_parallel_size: int
    pipeline_parallel_size: int
    nodes: int
    cards_per_node: int
    source: str
    note: str


@dataclass(frozen=True, kw_only=True)
class AccumulationRow:
    """What the vendor recommends for a model with LLaMA-Factory. Releases differ: a key may have several rows."""

    model: str
    strategy: str
    seq_length: int
    gradient_accumulation_steps: int | None
    per_device_train_batch_size: int | None
    deepspeed: str
    """ZeRO-1, ZeRO-2, ZeRO-3, ZeRO-3-Offload, or empty."""
    nodes: int
    cards_per_node: int
    source: str
    note: str

    @property
    def zero_stage(self) -> int | None:
        """Null where none is printed, or it needs the host's memory (Offload)."""
        stage = self.deepspeed.removeprefix("ZeRO-")
        return int(stage) if stage.isdecimal() else None


@dataclass(frozen=True, kw_only=True)
class InferenceLimitRow:
    """The longest context that a model serves on some devices, as measured by the vendor."""

    model: str
    memory_gib: int
    """Nominal memory of the device."""
    min_devices: int | None
    """Null where the page prints no number."""
    max_model_len: int | None
    gpu_memory_utilization: float | None
    version: str
    source: str
    note: str


@dataclass(frozen=True, kw_only=True)
class QuantizationRow:
    """Whether a model can be served with a kind of quantization."""

    model: str
    method: str
    supported: str
    """yes, no, or as printed where the page is not clear."""
    version: str
    source: str
    note: str


@dataclass(frozen=True)
class CpuSpeed:
    """One machine's CPU."""

    cores: int
    gflops: float | None
    """fp32 matrix products of all cores together, GFLOP/s; null where not measured."""


RunKey = tuple[str, str, str, int, str]
"""Model, framework, strategy, length, hardware of finished runs."""
MinDevicesKey = tuple[str, str, int, str, str]


@dataclass(frozen=True)
class Catalog:
    """All tables, keyed for look-up."""

    hardware: Mapping[str, HardwareRow]
    models: Mapping[str, ModelRow]
    min_devices: Mapping[MinDevicesKey, MinDevicesRow] = field(repr=False)
    architectures: Mapping[str, Architecture] = field(default_factory=dict, repr=False)
    """By the model's name; a model without dimensions has none, and then memory is not estimated."""
    parallel_configs: Mapping[tuple[str, int], ParallelConfigRow] = field(default_factory=dict, repr=False)
    """By model and length."""
    accumulations: tuple[AccumulationRow, ...] = field(default=(), repr=False)
    inference_limits: tuple[InferenceLimitRow, ...] = field(default=(), repr=False)
    quantizations: tuple[QuantizationRow, ...] = field(default=(), repr=False)
    estimates: Mapping[MinDevicesKey, MinDevicesRow] = field(default_factory=dict, repr=False)
    """Cells that no page prints: `planner.estimates` made them. Apart, so that nothing takes one for a printed one."""
    own_runs: Mapping[RunKey, tuple[float, ...]] = field(default_factory=dict, repr=False)
    """Tokens per second and device of the team's finished runs; the first of them replaces the usual figure."""
    cpus: tuple[CpuSpeed, ...] = ()
    """The machines on which a native job may run on a CPU."""

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
    from engine import tables_advice, tables_architecture, tables_csv

    return Catalog(
        hardware={row.name: row for row in tables_csv.hardware_rows(folder)},
        models={row.name: row for row in tables_csv.model_rows(folder)},
        min_devices={row.key: row for row in tables_csv.min_devices_rows(folder)},
        architectures={shape.model: shape for shape in tables_architecture.architectures(folder)},
        parallel_configs={(row.model, row.seq_length): row for row in tables_advice.parallel_config_rows(folder)},
        accumulations=tuple(tables_advice.accumulation_rows(folder)),
        inference_limits=tuple(tables_advice.inference_limit_rows(folder)),
        quantizations=tuple(tables_advice.quantization_rows(folder)),
    )
