"""Our field → the options of MindSpeed-LLM that carry it, or who else reads it. A test finds the missing field."""

from __future__ import annotations

PLANNER = "planner"
RUNNER = "runner"
STEPS = "our own steps between its programs"
MODEL = "every option of the model's dimensions, by its row of the architecture table"
NOTHING = "changes nothing in the run, which a warning says where one might expect it"
REFUSED = "refused with a reason: upstream has no such thing"

READ_BY: dict[str, tuple[str, ...]] = {
    "spec_version": (PLANNER,),
    "kind": (PLANNER,),
    "name": (NOTHING,),
    "model": (MODEL, "--prompt-type", "--model-type-hf", "--tokenizer-not-use-fast"),
    "model_path": ("--tokenizer-name-or-path", "--load-dir", "--tokenizer-model", STEPS),
    "framework": (PLANNER,),
    "hardware": (PLANNER,),
    "devices": ("--nproc_per_node", "--nnodes"),
    "train.stage": ("--stage", "--is-instruction-dataset", "--handler-name", "--data-path"),
    "train.strategy": ("--lora-target-modules", "--lora-ckpt-filter", "--load", "--pretrained-checkpoint"),
    "train.dataset.path": (STEPS, "--input"),
    "train.dataset.format": (STEPS,),
    **{
        f"train.dataset.columns.{name}": (STEPS,)
        for name in ("prompt", "query", "response", "history", "system", "messages", "tools", "text")
    },
    **{
        f"train.dataset.tags.{name}": (STEPS,)
        for name in ("role", "content", "user", "assistant", "observation", "function", "system")
    },
    "train.dataset.template": (REFUSED,),
    "train.dataset.train_on": (REFUSED,),
    "train.dataset.broken_rows": (STEPS,),
    "train.packing": (REFUSED,),
    "train.seq_length": ("--seq-length", "--max-position-embeddings"),
    "train.micro_batch_size": ("--micro-batch-size",),
    "train.global_batch_size": ("--global-batch-size",),
    "train.train_iters": ("--train-iters",),
    "train.epochs": ("--train-iters", STEPS),
    "train.learning_rate": ("--lr",),
    "train.min_learning_rate": ("--min-lr",),
    "train.seed": ("--seed",),
    "train.save_interval": ("--save-interval",),
    "train.sample_prompts": (NOTHING,),
    "train.layout.tensor_parallel_size": (
        "--tensor-model-parallel-size",
        "--sequence-parallel",
        "--padded-vocab-size",
        "--target-tensor-parallel-size",
    ),
    "train.layout.pipeline_parallel_size": (
        "--pipeline-model-parallel-size",
        "--num-layer-list",
        "--noop-layers",
        "--target-pipeline-parallel-size",
    ),
    "train.layout.context_parallel_size": ("--context-parallel-size", "--context-parallel-algo"),
    "train.layout.expert_parallel_size": ("--expert-model-parallel-size", "--target-expert-parallel-size"),
    "train.layout.zero_stage": ("--use-distributed-optimizer",),
    "train.layout.recompute": ("--recompute-granularity", "--recompute-method", "--recompute-num-layers"),
    "train.lora.rank": ("--lora-r",),
    "train.lora.alpha": ("--lora-alpha",),
    "train.lora.dropout": (REFUSED,),
    "train.lora.target_modules": ("--lora-target-modules",),
    "train.resume.checkpoint_path": ("--load", STEPS),
    "train.resume.auto_recovery": (RUNNER,),
}
"""Field → options and readers. `reuse_fp32_param` of the layout is `--reuse-fp32-param`, decided by the planner."""
