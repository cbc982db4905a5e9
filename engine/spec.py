"""`JobSpec`: what a person asked for. The same object in form, API, file and row.

A null field means "the planner decides". Field names are the field's own words and never change
on their way from the form to the chart.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

SPEC_VERSION = 1
LARGEST_WORLD = 65_536
SHORTEST_SAMPLE, LONGEST_SAMPLE = 8, 10_000_000
"""Devices: beyond every machine there is."""
LARGEST_BATCH = 1_048_576
"""Samples of one iteration; every process keeps their numbers in memory."""
LONGEST_TRAINING = 10_000_000
"""Iterations."""
MOST_PROMPTS = 64

Framework = Literal["native", "mindspeed-llm", "llama-factory"]
DatasetFormat = Literal["alpaca", "sharegpt", "moss", "openai", "text"]
TrainOn = Literal["every_answer", "last_answer", "whole_text"]
BrokenRows = Literal["refuse", "leave_out"]
TrainStage = Literal["pretrain", "sft"]
Strategy = Literal["full", "lora"]
Recompute = Literal["none", "selective", "full"]


def _line(text: str) -> str:
    """One line that a person can read: no line break, no NUL, no other control character."""
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text):
        raise PydanticCustomError("control_characters", "control characters")
    if not text.strip():
        raise PydanticCustomError("too_short", "blank")
    return text


def _lines(text: str) -> str:
    """Text of several lines."""
    _line(text.translate(dict.fromkeys(map(ord, "\n\r\t"))))
    return text


def _real_integer(value: Any) -> Any:
    """True equals 1, but is none."""
    if type(value) is not int:
        raise PydanticCustomError("int_type", "not an integer")
    return value


Integer = Annotated[int, Field(strict=True)]
"""JSON's own: "1" and true are none."""
Number = Annotated[float, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(_line)]
Word = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_line)]
PathText = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_line)]
Prompt = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_lines)]


class Part(BaseModel):
    """Base of every part of a spec: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ColumnNames(Part):
    """Keys of a row where they are not the format's own; null means the format's own."""

    prompt: Word | None = None
    """alpaca: the question; its own name is instruction."""
    query: Word | None = None
    """alpaca: joined to the question on a new line; its own name is input."""
    response: Word | None = None
    """alpaca: the answer; its own name is output."""
    history: Word | None = None
    """alpaca: earlier pairs of question and answer."""
    system: Word | None = None
    """What the model is told first; moss calls it meta_instruction."""
    messages: Word | None = None
    """The turns: conversations in sharegpt, messages in openai, chat in moss."""
    tools: Word | None = None
    """Descriptions of the tools that may be called."""
    text: Word | None = None
    """text: the document."""


class TagNames(Part):
    """Words inside a turn where they are not the format's own; sharegpt and openai have them."""

    role: Word | None = None
    """The key of who speaks: from in sharegpt, role in openai."""
    content: Word | None = None
    """The key of what is said: value in sharegpt, content in openai."""
    user: Word | None = None
    assistant: Word | None = None
    observation: Word | None = None
    """A tool's result: observation in sharegpt, tool in openai."""
    function: Word | None = None
    """A call of a tool, said by the model: function_call in sharegpt."""
    system: Word | None = None


class DatasetChoice(Part):
    """The data to train on."""

    path: PathText
    """A file (json, jsonl, csv, parquet, txt), a folder of such files, or a glob; absolute, or relative to where the
    request is made."""
    format: DatasetFormat
    columns: ColumnNames = ColumnNames()
    tags: TagNames = TagNames()
    template: Word | None = None
    """A chat template of `engine/families/` to insist on; null means the tokenizer's own, else its family's."""
    train_on: TrainOn = "every_answer"
    """What the model learns to say: every answer, the last one, or the question as well."""
    broken_rows: BrokenRows = "refuse"
    """Rows that cannot be read: refuse the dataset, or leave them out, counted and with their reasons."""


class LayoutRequest(Part):
    """Parallel sizes that the person insists on."""

    tensor_parallel_size: Integer | None = Field(default=None, ge=1, le=LARGEST_WORLD)
    pipeline_parallel_size: Integer | None = Field(default=None, ge=1, le=LARGEST_WORLD)
    context_parallel_size: Integer | None = Field(default=None, ge=1, le=LARGEST_WORLD)
    expert_parallel_size: Integer | None = Field(default=None, ge=1, le=LARGEST_WORLD)
    zero_stage: Integer | None = Field(default=None, ge=0, le=3)
    recompute: Recompute | None = None


class LoraOptions(Part):
    """Low-rank adapters; read only when the strategy is lora."""

    rank: Integer = Field(default=8, ge=1, le=1024)
    alpha: Number = Field(default=16, gt=0, le=65_536)
    dropout: Number = Field(default=0.0, ge=0, lt=1)
    target_modules: tuple[Word, ...] | None = Field(default=None, min_length=1, max_length=64)
    """Names of linear layers, such as q_proj; null means every linear layer of a block."""


class ResumeOptions(Part):
    """Where to continue from."""

    checkpoint_path: PathText | None = None
    auto_recovery: Flag = True
    """Does a run that was interrupted go on from its newest checkpoint by itself?"""


class TrainOptions(Part):
    """Everything about the training itself."""

    stage: TrainStage
    strategy: Strategy
    dataset: DatasetChoice
    seq_length: Integer = Field(ge=SHORTEST_SAMPLE, le=LONGEST_SAMPLE)
    """Tokens in one sample, prompt and answer together."""
    micro_batch_size: Integer | None = Field(default=None, ge=1, le=LARGEST_BATCH)
    """Samples in one forward pass of one model replica."""
    global_batch_size: Integer | None = Field(default=None, ge=1, le=LARGEST_BATCH)
    """Samples in one iteration over all replicas."""
    train_iters: Integer | None = Field(default=None, ge=1, le=LONGEST_TRAINING)
    """Iterations; null means as many as `epochs` gives."""
    epochs: Number | None = Field(default=None, gt=0, le=10_000)
    learning_rate: Number = Field(default=1e-5, gt=0, le=1)
    min_learning_rate: Number | None = Field(default=None, ge=0, le=1)
    """Where the cosine decay ends; null means a tenth of `learning_rate`."""
    packing: Flag | None = None
    """Are several rows put into one sample of `seq_length`? They never see each other. Null: conversations are not
    packed, documents are treated as the framework is used to."""
    seed: Integer = Field(default=1234, ge=0, le=2**31 - 1)
    save_interval: Integer = Field(default=100, ge=1, le=LONGEST_TRAINING)
    """Iterations between checkpoints."""
    sample_prompts: tuple[Prompt, ...] = Field(default=(), max_length=MOST_PROMPTS)
    """Prompts answered by the model before and after the training."""
    layout: LayoutRequest = LayoutRequest()
    lora: LoraOptions = LoraOptions()
    resume: ResumeOptions = ResumeOptions()


class JobSpec(Part):
    """One request. `spec_version` lets stored specs be read after the shape has changed."""

    spec_version: Annotated[Literal[1], BeforeValidator(_real_integer)] = 1
    kind: Literal["train"] = "train"
    name: Name
    model: Word
    """A row of the model table, such as llama3.1-8b."""
    model_path: PathText
    """A folder with Hugging Face weights and tokenizer."""
    framework: Framework
    hardware: Word
    """A row of the hardware table: snt9b, snt9b23, cuda, cpu."""
    devices: Integer = Field(ge=1, le=LARGEST_WORLD)
    """Schedulable units over all nodes: cards on Snt9B, DIE on Snt9B23, GPUs, CPU processes."""
    train: TrainOptions


def canonical_json(value: BaseModel) -> str:
    """The one spelling of a value on disk and in rows: field order, two spaces, a final newline."""
    return value.model_dump_json(indent=2) + "\n"
