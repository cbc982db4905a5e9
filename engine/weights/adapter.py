"""Adapters on disk, in the file format of PEFT (checked against peft 0.21)."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from engine.spec import LoraOptions

PREFIX = "base_model.model."
CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def save_adapter(folder: Path, tensors: dict[str, torch.Tensor], options: LoraOptions, base: str) -> None:
    """Write an adapter.

    tensors: by parameter name, `….q_proj.lora_A.weight` [rank, in] and `….lora_B.weight` [out, rank];
    base: path of the model that the adapter belongs to.
    """
    save_file(
        {PREFIX + name: value.contiguous() for name, value in tensors.items()}, folder / WEIGHTS, {"format": "pt"}
    )
    targets = sorted({name.split(".lora_")[0].rpartition(".")[2] for name in tensors})
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": options.rank,
        "lora_alpha": options.alpha,
        "lora_dropout": options.dropout,
        "target_modules": targets,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
