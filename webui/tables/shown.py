"""Which columns of a resource table are shown, filtered and changed in lists."""

from __future__ import annotations

from dataclasses import dataclass

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

SHAPE = ("num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "vocab_size")


@dataclass(frozen=True)
class Shown:
    columns: tuple[str, ...]
    filters: tuple[str, ...]
    search: tuple[str, ...]
    editable: tuple[str, ...]
    """Changed in the list of the back office."""


SHOWN: dict[type[Sourced], Shown] = {
    Hardware: Shown(
        ("name", "cards_per_node", "dies_per_card", "devices_per_node", "device_step", "memory_gib"),
        (),
        ("name",),
        ("memory_gib",),
    ),
    TrainableModel: Shown(
        ("name", "family", "params", "max_position_embeddings", *SHAPE, "frameworks", "status"),
        ("family", "multimodal"),
        ("name", "family", "hf_repo_id"),
        ("status",),
    ),
    MinDevices: Shown(
        ("model", "strategy", "seq_length", "framework", "hardware", "devices", "estimate", "suspect"),
        ("strategy", "seq_length", "framework", "hardware", "estimate"),
        ("model",),
        ("devices",),
    ),
    ParallelConfig: Shown(
        ("model", "seq_length", "tensor_parallel_size", "pipeline_parallel_size", "nodes", "cards_per_node"),
        ("seq_length",),
        ("model",),
        ("tensor_parallel_size", "pipeline_parallel_size", "nodes", "cards_per_node"),
    ),
    Accumulation: Shown(
        (
            "model",
            "strategy",
            "seq_length",
            "gradient_accumulation_steps",
            "per_device_train_batch_size",
            "deepspeed",
            "nodes",
            "cards_per_node",
            "source",
        ),
        ("strategy", "seq_length", "deepspeed"),
        ("model",),
        ("gradient_accumulation_steps", "deepspeed"),
    ),
    InferenceLimit: Shown(
        ("model", "memory_gib", "min_devices", "max_model_len", "gpu_memory_utilization", "version"),
        ("memory_gib", "version"),
        ("model",),
        ("min_devices", "max_model_len"),
    ),
    Quantization: Shown(
        ("model", "method", "supported", "version"),
        ("method", "supported", "version"),
        ("model",),
        ("supported",),
    ),
}
