"""Requests for tests: the one of the design, and one for our own engine."""

from __future__ import annotations

import copy
from typing import Any

DESIGN: dict[str, Any] = {
    "spec_version": 1,
    "kind": "train",
    "name": "first try",
    "model": "llama3.1-8b",
    "model_path": "models/Meta-Llama-3.1-8B-Instruct",
    "framework": "mindspeed-llm",
    "hardware": "snt9b",
    "devices": 8,
    "train": {
        "stage": "sft",
        "strategy": "full",
        "dataset": {"path": "data/alpaca.json", "format": "alpaca"},
        "seq_length": 4096,
        "micro_batch_size": None,
        "global_batch_size": 64,
        "train_iters": None,
        "epochs": 1,
        "learning_rate": 1e-5,
        "min_learning_rate": None,
        "seed": 1234,
        "save_interval": 100,
        "layout": {
            "tensor_parallel_size": None,
            "pipeline_parallel_size": None,
            "context_parallel_size": None,
            "expert_parallel_size": None,
            "zero_stage": None,
            "recompute": None,
        },
        "lora": {"rank": 8, "alpha": 16, "dropout": 0.0, "target_modules": None},
        "resume": {"checkpoint_path": None, "auto_recovery": True},
    },
}
NATIVE = {"model": "smollm2-135m", "framework": "native", "hardware": "cpu", "devices": 1, "train.seq_length": 512}


def request(**changes: Any) -> dict[str, Any]:
    """The design's request with some fields, by dotted path with __ for a dot, set to other values."""
    return changed(DESIGN, {path.replace("__", "."): value for path, value in changes.items()})


def native(**changes: Any) -> dict[str, Any]:
    return changed(changed(DESIGN, NATIVE), {path.replace("__", "."): value for path, value in changes.items()})


def changed(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    data = copy.deepcopy(data)
    for path, value in changes.items():
        part = data
        *parents, last = path.split(".")
        for parent in parents:
            part = part[parent]
        part[last] = value
    return data
