"""The vendor's recommendations from CSV files: layouts, gradient accumulation, inference limits, quantization."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.catalog import AccumulationRow, InferenceLimitRow, ParallelConfigRow, QuantizationRow
from engine.tables_csv import table


def parallel_config_rows(folder: Path) -> Iterator[ParallelConfigRow]:
    for line in table(folder, "parallel_config"):
        yield ParallelConfigRow(
            model=line.text("model"),
            seq_length=line.integer("seq_len"),
            tensor_parallel_size=line.integer("tp"),
            pipeline_parallel_size=line.integer("pp"),
            nodes=line.integer("nodes"),
            cards_per_node=line.integer("cards_per_node"),
            source=line.text("source"),
            note=line.text("note"),
        )


def accumulation_rows(folder: Path) -> Iterator[AccumulationRow]:
    for line in table(folder, "grad_accum"):
        yield AccumulationRow(
            model=line.text("model"),
            strategy=line.text("strategy"),
            seq_length=line.integer("cutoff_len"),
            gradient_accumulation_steps=line.optional_int("gradient_accumulation_steps"),
            per_device_train_batch_size=line.optional_int("per_device_train_batch_size"),
            deepspeed=line.text("deepspeed"),
            nodes=line.integer("nodes"),
            cards_per_node=line.integer("cards_per_node"),
            source=line.text("source"),
            note=line.text("note"),
        )


def inference_limit_rows(folder: Path) -> Iterator[InferenceLimitRow]:
    for line in table(folder, "inference_limits"):
        yield InferenceLimitRow(
            model=line.text("model"),
            memory_gib=line.integer("hardware_memory_gb"),
            min_devices=line.optional_int("min_cards"),
            max_model_len=line.optional_int("max_model_len"),
            gpu_memory_utilization=line.optional_float("gpu_memory_utilization"),
            version=line.text("version"),
            source=line.text("source"),
            note=line.text("note"),
        )


def quantization_rows(folder: Path) -> Iterator[QuantizationRow]:
    for line in table(folder, "quantization_support"):
        yield QuantizationRow(
            model=line.text("model"),
            method=line.text("method"),
            supported=line.text("supported"),
            version=line.text("version"),
            source=line.text("source"),
            note=line.text("note"),
        )
