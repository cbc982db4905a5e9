"""`JobSpec`: what a person asked for. The same object in form, API, file and row.

A null field means "the planner decides". Field names are the field's own words and never change
on their way from the form to the chart.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SPEC_VERSION = 1

Framework = Literal["native", "mindspeed-llm", "llama-factory"]
DatasetFormat = Literal["alpaca", "sharegpt", "moss", "text"]
TrainStage = Literal["pretrain", "sft"]
Strategy = Literal["full", "lora"]
Recompute = Literal["none", "selective", "full"]


class Part(BaseModel):
    """Base of every part of a spec: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DatasetChoice(Part):
    """The data to train on."""

    path: str = Field(min_length=1)
    """A file (json, jsonl, txt); absolute, or relative to where the request is made."""
    format: DatasetFormat


class LayoutRequest(Part):
    """Parallel sizes that the person insists on."""

    tensor_parallel_size: int | None = Field(default=None, ge=1)
    pipeline_parallel_size: int | None = Field(default=None, ge=1)
    context_parallel_size: int | None = Field(default=None, ge=1)
    expert_parallel_size: int | None = Field(default=None, ge=1)
    zero_stage: int | None = Field(default=None, ge=0, le=3)
    recompute: Recompute | None = None


class LoraOptions(Part):
    """Low-rank adapters; read only when the strategy is lora."""

    rank: int = Field(default=8, ge=1, le=1024)
    alpha: float = Field(default=16, gt=0)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    target_modules: tuple[str, ...] | None = None
    """Names of linear layers, such as q_proj; null means every linear layer of a block."""


class ResumeOptions(Part):
    """Where to continue from."""

    checkpoint_path: str | None = None
    auto_recovery: bool = True


class TrainOptions(Part):
    """Everything about the training itself."""

    stage: TrainStage
    strategy: Strategy
    dataset: DatasetChoice
    seq_length: int = Field(ge=8, le=10_000_000)
    """Tokens in one sample, prompt and answer together."""
    micro_batch_size: int | None = Field(default=None, ge=1)
    """Samples in one forward pass of one model replica."""
    global_batch_size: int | None = Field(default=None, ge=1)
    """Samples in one iteration over all replicas."""
    train_iters: int | None = Field(default=None, ge=1)
    """Iterations; null means as many as `epochs` gives."""
    epochs: float | None = Field(default=None, gt=0)
    learning_rate: float = Field(default=1e-5, gt=0, le=1)
    min_learning_rate: float | None = Field(default=None, ge=0, le=1)
    """Where the cosine decay ends; null means a tenth of `learning_rate`."""
    seed: int = Field(default=1234, ge=0, le=2**31 - 1)
    save_interval: int = Field(default=100, ge=1)
    """Iterations between checkpoints."""
    sample_prompts: tuple[str, ...] = ()
    """Prompts answered by the model before and after the training."""
    layout: LayoutRequest = LayoutRequest()
    lora: LoraOptions = LoraOptions()
    resume: ResumeOptions = ResumeOptions()


class JobSpec(Part):
    """One request. `spec_version` lets stored specs be read after the shape has changed."""

    spec_version: Literal[1] = 1
    kind: Literal["train"] = "train"
    name: str = Field(min_length=1, max_length=120)
    model: str = Field(min_length=1)
    """A row of the model table, such as llama3.1-8b."""
    model_path: str = Field(min_length=1)
    """A folder with Hugging Face weights and tokenizer."""
    framework: Framework
    hardware: str = Field(min_length=1)
    """A row of the hardware table: snt9b, snt9b23, cuda, cpu."""
    devices: int = Field(ge=1)
    """Schedulable units over all nodes: cards on Snt9B, DIE on Snt9B23, GPUs, CPU processes."""
    train: TrainOptions


def canonical_json(value: BaseModel) -> str:
    """The one spelling of a value on disk and in rows: field order, two spaces, a final newline."""
    return value.model_dump_json(indent=2) + "\n"
