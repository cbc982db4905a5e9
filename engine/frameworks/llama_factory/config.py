"""What LLaMA-Factory reads: its YAML for `train` and `export`, and DeepSpeed's JSON.

Each text stands in double quotes, as in JSON, so that none can be misread: an unquoted `no` would be a false.
"""

from __future__ import annotations

import json
from typing import Any

from engine.plan import Batch, Layout
from engine.run_folder import KEPT_CHECKPOINTS
from engine.spec import JobSpec

DEEPSPEED = "config/deepspeed.json"
DATASET = "train"
"""Name of the only entry in data/dataset_info.json."""
STAGES = {"pretrain": "pt", "sft": "sft"}
MIN_LEARNING_RATE = 0.1
"""Of the peak, where the request names none; as our own engine does it."""
PATIENCE_SECONDS = 180_000_000
"""How long ranks wait for the one that prepares the data; LLaMA-Factory's own examples say so."""
SHARD_GB = 5
WARMUP_SHARE, LONGEST_WARMUP = 10, 500
"""A tenth of the iterations, and the most there are where their number is known."""


def train_files(spec: JobSpec, layout: Layout, batch: Batch, *, template: str, remote_code: bool) -> dict[str, str]:
    """Path in the run's folder → text."""
    values = train_values(spec, layout, batch, template=template, remote_code=remote_code)
    files = {"config/train.yaml": _yaml(values)}
    if "deepspeed" in values:
        files[DEEPSPEED] = json.dumps(deepspeed(layout.zero_stage), indent=2) + "\n"
    return files


def train_values(spec: JobSpec, layout: Layout, batch: Batch, *, template: str, remote_code: bool) -> dict[str, Any]:
    """Keys of LLaMA-Factory for the training, in the order of its own examples."""
    return {
        **_model(spec, spec.model_path, template=template, remote_code=remote_code),
        "stage": STAGES[spec.train.stage],
        "do_train": True,
        **_adapter(spec),
        "disable_gradient_checkpointing": layout.recompute == "none",
        **_data(spec),
        **_saving(spec),
        **_schedule(spec, batch),
        **_devices(spec, layout),
    }


def export_yaml(spec: JobSpec, *, template: str, remote_code: bool) -> str:
    """The trained weights as a folder of their own; an adapter is merged into the weights that it was trained on."""
    lora = spec.train.strategy == "lora"
    values = _model(spec, spec.model_path if lora else "checkpoints", template=template, remote_code=remote_code)
    if lora:
        values["adapter_name_or_path"] = "checkpoints"
    values |= {
        "finetuning_type": spec.train.strategy,
        "infer_dtype": "float32" if spec.hardware == "cpu" else "bfloat16",
        "export_dir": "output/model",
        "export_size": SHARD_GB,
        "export_device": "cpu",
    }
    return _yaml(values)


def deepspeed(zero_stage: int) -> dict[str, Any]:
    """Sizes are left to the Trainer ("auto"). `overlap_comm` is off, which was blamed for losses that are NaN."""
    zero: dict[str, Any] = {"stage": zero_stage, "overlap_comm": False, "contiguous_gradients": True}
    if zero_stage < 3:
        zero |= {
            "allgather_partitions": True,
            "allgather_bucket_size": 500_000_000,
            "reduce_scatter": True,
            "reduce_bucket_size": 500_000_000,
            "round_robin_gradients": True,
        }
    else:
        zero |= {
            "sub_group_size": 1_000_000_000,
            "reduce_bucket_size": "auto",
            "stage3_prefetch_bucket_size": "auto",
            "stage3_param_persistence_threshold": "auto",
            "stage3_max_live_parameters": 1_000_000_000,
            "stage3_max_reuse_distance": 1_000_000_000,
            "stage3_gather_16bit_weights_on_model_save": True,
        }
    sizes = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping")
    return {
        **dict.fromkeys(sizes, "auto"),
        "zero_allow_untested_optimizer": True,
        "bf16": {"enabled": "auto"},
        "zero_optimization": zero,
    }


def _model(spec: JobSpec, path: str, *, template: str, remote_code: bool) -> dict[str, Any]:
    values: dict[str, Any] = {"model_name_or_path": path, "trust_remote_code": remote_code}
    return values | ({"template": template} if template else {})


def _adapter(spec: JobSpec) -> dict[str, Any]:
    train = spec.train
    if train.strategy != "lora":
        return {"finetuning_type": "full"}
    return {
        "finetuning_type": "lora",
        "lora_rank": train.lora.rank,
        "lora_alpha": int(train.lora.alpha),  # a rule refuses one that is not whole
        "lora_dropout": train.lora.dropout,
        "lora_target": ",".join(train.lora.target_modules or ("all",)),
    }


def _data(spec: JobSpec) -> dict[str, Any]:
    return {
        "dataset": DATASET,
        "dataset_dir": "data",
        "cutoff_len": spec.train.seq_length,
        **_samples(spec),
        "overwrite_cache": False,
    }


def _samples(spec: JobSpec) -> dict[str, Any]:
    """What is learnt of a row, and do several share a sample? Documents do, unless it is declined; conversations only
    if it is asked for, and then none sees another (`neat_packing`)."""
    train = spec.train
    if train.stage == "pretrain":
        return {"packing": train.packing is not False}
    packed = train.packing is True
    values = {"packing": packed} | ({"neat_packing": True} if packed else {})
    learnt = {"last_answer": {"mask_history": True}, "whole_text": {"train_on_prompt": True}}
    return values | learnt.get(train.dataset.train_on, {})


def _saving(spec: JobSpec) -> dict[str, Any]:
    """Checkpoints keep the optimizer's state, without which nothing can go on from them."""
    values: dict[str, Any] = {
        "output_dir": "checkpoints",
        "save_strategy": "steps",
        "save_steps": spec.train.save_interval,
        "save_total_limit": KEPT_CHECKPOINTS,
        "save_only_model": False,
        "logging_steps": 1,
        "report_to": "none",
    }
    wanted = spec.train.resume.checkpoint_path
    return values if wanted is None else values | {"resume_from_checkpoint": wanted}


def _schedule(spec: JobSpec, batch: Batch) -> dict[str, Any]:
    train = spec.train
    least = train.min_learning_rate if train.min_learning_rate is not None else MIN_LEARNING_RATE * train.learning_rate
    length = {"num_train_epochs": batch.epochs} if batch.train_iters is None else {"max_steps": batch.train_iters}
    return {
        "per_device_train_batch_size": batch.micro_batch_size,
        "gradient_accumulation_steps": batch.gradient_accumulation_steps,
        **length,
        "learning_rate": train.learning_rate,
        **_warmup(batch),
        "lr_scheduler_type": "cosine_with_min_lr",
        "lr_scheduler_kwargs": {"min_lr_rate": least / train.learning_rate},  # min_lr fails with DeepSpeed's optimizer
        "seed": train.seed,
    }


def _warmup(batch: Batch) -> dict[str, Any]:
    """As our own engine does it; where the number of iterations follows from the data, its share of them."""
    if batch.train_iters is None:
        return {"warmup_ratio": 1 / WARMUP_SHARE}
    return {"warmup_steps": min(batch.train_iters // WARMUP_SHARE, LONGEST_WARMUP)}


def _devices(spec: JobSpec, layout: Layout) -> dict[str, Any]:
    if spec.hardware == "cpu":
        gloo = {"ddp_backend": "gloo"} if layout.devices > 1 else {}
        return {"use_cpu": True, "bf16": False, **gloo}
    values: dict[str, Any] = {"bf16": True, "ddp_timeout": PATIENCE_SECONDS}
    return values | ({"deepspeed": DEEPSPEED} if layout.zero_stage else {})


def _yaml(values: dict[str, Any]) -> str:
    return "".join(f"{key}: {_scalar(value)}\n" for key, value in values.items())


def _scalar(value: Any) -> str:
    """YAML 1.1 takes 1e-05 for text: a number needs its dot."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_scalar(part)}" for key, part in value.items()) + "}"
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("e", ".0e") if isinstance(value, float) and "e" in text and "." not in text else text
