"""Rows of the database ↔ values of the engine. A model's row holds two of them: what it is, and its dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from django.db.models import Model

from engine.architecture import Architecture, Experts, LatentAttention, VisionTower
from engine.catalog import (
    AccumulationRow,
    Catalog,
    HardwareRow,
    InferenceLimitRow,
    MinDevicesRow,
    ModelRow,
    ParallelConfigRow,
    QuantizationRow,
)
from jobs.models import (
    Accumulation,
    Hardware,
    InferenceLimit,
    MinDevices,
    ParallelConfig,
    Quantization,
    TrainableModel,
)
from jobs.models.tables import Sourced

Columns = dict[str, Any]
V = TypeVar("V")
PARTS: tuple[tuple[str, str, type[Any]], ...] = (
    ("experts", "experts_", Experts),
    ("latent_attention", "latent_", LatentAttention),
    ("vision", "vision_", VisionTower),
)
"""Parts of an `Architecture`: field, prefix of the columns, kind. The first column of each says whether it is there."""
WITNESS = {"experts": "experts_count", "latent_attention": "latent_kv_lora_rank", "vision": "vision_depth"}


def value_of(row: Model, kind: type[V]) -> V:
    """The columns that `kind` has; a JSON list becomes a tuple."""
    columns = {field.name: getattr(row, field.name) for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in columns.items()})


def architecture_of(row: TrainableModel) -> Architecture | None:
    """None where the dimensions are not known."""
    if row.hidden_size is None:
        return None
    named: Columns = {"model": row.name, "source": row.shape_source, "note": row.shape_note}
    parts = {name: _part(row, name, prefix, kind) for name, prefix, kind in PARTS}
    plain = {
        field.name: getattr(row, field.name)
        for field in fields(Architecture)
        if field.name not in named and field.name not in parts
    }
    return Architecture(**plain, **named, **parts)


def _part(row: TrainableModel, name: str, prefix: str, kind: type[Any]) -> Any:
    if getattr(row, WITNESS[name]) is None:
        return None
    return kind(**{field.name: getattr(row, prefix + field.name) for field in fields(kind)})


def model_columns(model: ModelRow, shape: Architecture | None) -> Columns:
    """Both values as the columns of one row."""
    columns = _columns(model)
    if shape is None:
        return columns
    parts = {name for name, _prefix, _kind in PARTS}
    for name, value in vars(shape).items():
        if name not in ("model", "source", "note") and name not in parts:
            columns[name] = value
    for name, prefix, _kind in PARTS:
        part = getattr(shape, name)
        columns |= {prefix + inner: value for inner, value in vars(part).items()} if part is not None else {}
    return {**columns, "shape_source": shape.source, "shape_note": shape.note}


def _columns(value: Any) -> Columns:
    return {name: list(item) if isinstance(item, tuple) else item for name, item in vars(value).items()}


@dataclass(frozen=True)
class Table:
    """A resource table of the database."""

    model: type[Sourced]
    key: tuple[str, ...]
    """What makes a row the same row."""
    rows_of: Callable[[Catalog], Iterable[Columns]]
    """The rows that it should have by a catalog."""

    @property
    def slug(self) -> str:
        return str(self.model._meta.model_name)

    @property
    def history(self) -> type[Model]:
        found: type[Model] = self.model.history.model  # type: ignore[attr-defined]
        return found


def _plain(values: Callable[[Catalog], Iterable[Any]]) -> Callable[[Catalog], Iterable[Columns]]:
    return lambda catalog: (_columns(value) for value in values(catalog))


def _models(catalog: Catalog) -> Iterable[Columns]:
    return (model_columns(model, catalog.architectures.get(model.name)) for model in catalog.models.values())


TABLES: tuple[Table, ...] = (
    Table(Hardware, ("name",), _plain(lambda catalog: catalog.hardware.values())),
    Table(TrainableModel, ("name",), _models),
    Table(
        MinDevices,
        ("model", "strategy", "seq_length", "framework", "hardware"),
        _plain(lambda catalog: (*catalog.min_devices.values(), *catalog.estimates.values())),
    ),
    Table(ParallelConfig, ("model", "seq_length"), _plain(lambda catalog: catalog.parallel_configs.values())),
    Table(Accumulation, ("model", "strategy", "seq_length", "source"), _plain(lambda catalog: catalog.accumulations)),
    Table(InferenceLimit, ("model", "memory_gib", "version"), _plain(lambda catalog: catalog.inference_limits)),
    Table(Quantization, ("model", "method", "version"), _plain(lambda catalog: catalog.quantizations)),
)
"""In the order in which they are loaded and shown."""


def read_catalog() -> Catalog:
    """The whole catalog from the database. Rows are in the order in which they were loaded."""
    cells = [value_of(row, MinDevicesRow) for row in MinDevices.objects.order_by("pk")]
    models = list(TrainableModel.objects.order_by("pk"))
    shapes = {row.name: architecture_of(row) for row in models}
    configs = [value_of(row, ParallelConfigRow) for row in ParallelConfig.objects.order_by("pk")]
    return Catalog(
        hardware={row.name: value_of(row, HardwareRow) for row in Hardware.objects.order_by("pk")},
        models={row.name: value_of(row, ModelRow) for row in models},
        min_devices={cell.key: cell for cell in cells if not cell.estimate},
        architectures={name: shape for name, shape in shapes.items() if shape is not None},
        parallel_configs={(row.model, row.seq_length): row for row in configs},
        accumulations=_all(Accumulation, AccumulationRow),
        inference_limits=_all(InferenceLimit, InferenceLimitRow),
        quantizations=_all(Quantization, QuantizationRow),
        estimates={cell.key: cell for cell in cells if cell.estimate},
    )


def _all(model: type[Sourced], kind: type[V]) -> tuple[V, ...]:
    return tuple(value_of(row, kind) for row in model._default_manager.order_by("pk"))


def key_of(columns: Mapping[str, Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(columns[name] for name in names)
