"""How LLaMA-Factory reads each field of a `JobSpec`. A test finds the field that has no line here."""

from __future__ import annotations

PLANNER = "planner"
PREPROCESS = "preprocess"
RUNNER = "runner"
REFUSED = "refused by name: it cannot be done with this framework"
NOTHING = "changes nothing in the run"

READ_BY: dict[str, tuple[str, ...]] = {
    "spec_version": (PLANNER,),
    "kind": (PLANNER,),
    "name": (NOTHING,),
    "model": (PLANNER, "template", "trust_remote_code"),
    "model_path": ("model_name_or_path",),
    "framework": (PLANNER,),
    "hardware": (PLANNER, "use_cpu", "bf16", "infer_dtype"),
    "devices": (PLANNER, "--nproc_per_node", "--nnodes"),
    "train.stage": (PREPROCESS, "stage", "packing"),
    "train.strategy": ("finetuning_type",),
    "train.dataset.path": (PREPROCESS,),
    "train.dataset.format": (PREPROCESS,),
    **{
        f"train.dataset.columns.{name}": (PREPROCESS,)
        for name in ("prompt", "query", "response", "history", "system", "messages", "tools", "text")
    },
    **{
        f"train.dataset.tags.{name}": (PREPROCESS,)
        for name in ("role", "content", "user", "assistant", "observation", "function", "system")
    },
    "train.dataset.template": (PLANNER, "template"),
    "train.dataset.broken_rows": (PREPROCESS,),
    "train.dataset.train_on": ("mask_history", "train_on_prompt"),
    "train.packing": ("packing", "neat_packing"),
    "train.seq_length": ("cutoff_len",),
    "train.micro_batch_size": (PLANNER, "per_device_train_batch_size"),
    "train.global_batch_size": (PLANNER, "gradient_accumulation_steps"),
    "train.train_iters": ("max_steps", "warmup_steps"),
    "train.epochs": ("num_train_epochs", "warmup_ratio"),
    "train.learning_rate": ("learning_rate",),
    "train.min_learning_rate": ("lr_scheduler_type", "lr_scheduler_kwargs"),
    "train.seed": ("seed",),
    "train.save_interval": ("save_steps",),
    "train.sample_prompts": (NOTHING,),
    "train.layout.tensor_parallel_size": (REFUSED,),
    "train.layout.pipeline_parallel_size": (REFUSED,),
    "train.layout.context_parallel_size": (REFUSED,),
    "train.layout.expert_parallel_size": (REFUSED,),
    "train.layout.zero_stage": (PLANNER, "deepspeed"),
    "train.layout.recompute": (REFUSED, "disable_gradient_checkpointing"),
    "train.lora.rank": ("lora_rank",),
    "train.lora.alpha": ("lora_alpha",),
    "train.lora.dropout": ("lora_dropout",),
    "train.lora.target_modules": ("lora_target",),
    "train.resume.checkpoint_path": ("resume_from_checkpoint",),
    "train.resume.auto_recovery": (RUNNER,),
}
"""Field → the keys of config/train.yaml or config/export.yaml and the options of torchrun that carry it."""
FIXED: tuple[str, ...] = (
    "adapter_name_or_path",
    "dataset",
    "dataset_dir",
    "ddp_backend",
    "ddp_timeout",
    "do_train",
    "export_device",
    "export_dir",
    "export_size",
    "logging_steps",
    "output_dir",
    "overwrite_cache",
    "report_to",
    "save_only_model",
    "save_strategy",
    "save_total_limit",
)
"""Keys that are the same for every request of a kind."""
