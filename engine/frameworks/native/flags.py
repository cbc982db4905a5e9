"""How the native framework reads each field of a `JobSpec`. A test finds the field that has no line here."""

from __future__ import annotations

PLANNER = "planner"
PREPROCESS = "preprocess"
TRAIN = "train"
EXPORT = "export"
RUNNER = "runner"
LATER = "refused by name until a later release"
NOTHING = "changes nothing in the run"

READ_BY: dict[str, tuple[str, ...]] = {
    "spec_version": (PLANNER,),
    "kind": (PLANNER,),
    "name": (NOTHING,),
    "model": (PLANNER,),
    "model_path": (PREPROCESS, TRAIN, EXPORT),
    "framework": (PLANNER,),
    "hardware": (PLANNER,),
    "devices": (PLANNER,),
    "train.stage": (PREPROCESS,),
    "train.strategy": (TRAIN, EXPORT),
    "train.dataset.path": (PREPROCESS,),
    "train.dataset.format": (PREPROCESS,),
    "train.dataset.columns.prompt": (PREPROCESS,),
    "train.dataset.columns.query": (PREPROCESS,),
    "train.dataset.columns.response": (PREPROCESS,),
    "train.dataset.columns.history": (PREPROCESS,),
    "train.dataset.columns.system": (PREPROCESS,),
    "train.dataset.columns.messages": (PREPROCESS,),
    "train.dataset.columns.tools": (PREPROCESS,),
    "train.dataset.columns.text": (PREPROCESS,),
    "train.dataset.tags.role": (PREPROCESS,),
    "train.dataset.tags.content": (PREPROCESS,),
    "train.dataset.tags.user": (PREPROCESS,),
    "train.dataset.tags.assistant": (PREPROCESS,),
    "train.dataset.tags.observation": (PREPROCESS,),
    "train.dataset.tags.function": (PREPROCESS,),
    "train.dataset.tags.system": (PREPROCESS,),
    "train.dataset.template": (PREPROCESS,),
    "train.dataset.train_on": (PREPROCESS,),
    "train.dataset.broken_rows": (PREPROCESS,),
    "train.seq_length": (PREPROCESS, TRAIN),
    "train.micro_batch_size": (PLANNER,),
    "train.global_batch_size": (PLANNER,),
    "train.train_iters": (PLANNER,),
    "train.epochs": (PLANNER,),
    "train.learning_rate": (TRAIN,),
    "train.min_learning_rate": (TRAIN,),
    "train.packing": (PREPROCESS, TRAIN),
    "train.seed": (TRAIN,),
    "train.save_interval": (TRAIN,),
    "train.sample_prompts": (PLANNER, TRAIN),
    "train.layout.tensor_parallel_size": (PLANNER,),
    "train.layout.pipeline_parallel_size": (PLANNER,),
    "train.layout.context_parallel_size": (LATER,),
    "train.layout.expert_parallel_size": (LATER,),
    "train.layout.zero_stage": (PLANNER,),
    "train.layout.recompute": (LATER,),
    "train.lora.rank": (TRAIN, EXPORT),
    "train.lora.alpha": (TRAIN, EXPORT),
    "train.lora.dropout": (TRAIN, EXPORT),
    "train.lora.target_modules": (TRAIN, EXPORT),
    "train.resume.checkpoint_path": (LATER,),
    "train.resume.auto_recovery": (RUNNER,),
}
"""Field → the stages that read it; the planner's decisions reach the stages in the stage file."""
