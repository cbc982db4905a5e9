"""The form fields of a job: one for each leaf of `JobSpec`, named by its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from engine import families, spec

Kind = Literal["text", "int", "float", "choice", "yes_no", "lines", "words", "flag"]
Text = str | Promise


@dataclass(frozen=True, kw_only=True)
class Field:
    """A leaf of the spec as a person sees it. `path` is its name in form, spec, stored JSON and API."""

    path: str
    label: Text
    kind: Kind = "text"
    hint: Text = ""
    placeholder: Text = ""
    choices: tuple[tuple[str, Text], ...] = ()
    suggestions: str = ""
    """Name of a list of values to choose from: datasets, weights, lengths. Free text stays allowed."""
    wide: bool = False
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Section:
    name: str
    title: Text
    fields: tuple[Field, ...]
    folded: bool = False
    hint: Text = ""


DECIDED = _("decided by the planner")
FRAMEWORK_LABELS: dict[str, Text] = {
    "native": _("Native (our own engine)"),
    "mindspeed-llm": "MindSpeed-LLM",
    "llama-factory": "LLaMA-Factory",
}
FORMAT_LABELS: dict[str, Text] = {
    "alpaca": _("Alpaca (instruction, input, output)"),
    "sharegpt": _("ShareGPT (conversations)"),
    "moss": _("MOSS (chat with turns)"),
    "openai": _("OpenAI (messages)"),
    "text": _("Plain text"),
}
STAGE_LABELS: dict[str, Text] = {"sft": _("Supervised fine-tuning (SFT)"), "pretrain": _("Pre-training")}
STRATEGY_LABELS: dict[str, Text] = {"full": _("All parameters (full)"), "lora": _("Low-rank adapters (LoRA)")}
TRAIN_ON_LABELS: dict[str, Text] = {
    "every_answer": _("every answer"),
    "last_answer": _("the last answer only"),
    "whole_text": _("answers and questions"),
}
BROKEN_ROWS_LABELS: dict[str, Text] = {
    "refuse": _("refuse the dataset"),
    "leave_out": _("leave them out and count them"),
}
RECOMPUTE_LABELS: dict[str, Text] = {"none": _("none"), "selective": _("selective"), "full": _("all layers")}


COLUMN_LABELS: dict[str, Text] = {
    "prompt": _("Column of the question"),
    "query": _("Column of what is added to the question"),
    "response": _("Column of the answer"),
    "history": _("Column of earlier questions and answers"),
    "system": _("Column of the system text"),
    "messages": _("Column of the turns"),
    "tools": _("Column of the tools"),
    "text": _("Column of the text"),
}
COLUMN_DEFAULTS = {
    "prompt": "instruction",
    "query": "input",
    "response": "output",
    "history": "history",
    "system": "system",
    "messages": "conversations / messages / chat",
    "tools": "tools",
    "text": "text",
}
TAG_LABELS: dict[str, Text] = {
    "role": _("Key of the role"),
    "content": _("Key of the content"),
    "user": _("Role of the user"),
    "assistant": _("Role of the model"),
    "observation": _("Role of a tool's result"),
    "function": _("Role of a tool call"),
    "system": _("Role of the system text"),
}
TAG_DEFAULTS = {
    "role": "from / role",
    "content": "value / content",
    "user": "human / user",
    "assistant": "gpt / assistant",
    "observation": "observation / tool",
    "function": "function_call",
    "system": "system",
}


def _names(part: str, labels: dict[str, Text], defaults: dict[str, str]) -> tuple[Field, ...]:
    return tuple(
        Field(path=f"train.dataset.{part}.{name}", label=label, placeholder=defaults[name])
        for name, label in labels.items()
    )


def _choices(literal: object, labels: dict[str, Text]) -> tuple[tuple[str, Text], ...]:
    return tuple((value, labels[value]) for value in labels if value in get_args(literal))


SECTIONS: tuple[Section, ...] = (
    Section(
        name="what",
        title=_("Model"),
        fields=(
            Field(path="name", label=_("Name of the job"), wide=True, required=True, placeholder=_("first try")),
            Field(path="model", label=_("Model"), kind="choice", required=True),
            Field(
                path="model_path",
                label=_("Folder with its weights"),
                suggestions="weights",
                required=True,
                hint=_("Hugging Face weights and tokenizer. Choose a registered one or type a path."),
            ),
        ),
    ),
    Section(
        name="where",
        title=_("Machine"),
        fields=(
            Field(
                path="framework",
                label=_("Framework"),
                kind="choice",
                choices=_choices(spec.Framework, FRAMEWORK_LABELS),
                required=True,
            ),
            Field(path="hardware", label=_("Hardware"), kind="choice", required=True),
            Field(
                path="devices",
                label=_("Devices"),
                kind="int",
                required=True,
                hint=_("Over all nodes: cards on Snt9B, DIE on Snt9B23, GPUs, processes on CPU."),
            ),
        ),
    ),
    Section(
        name="data",
        title=_("Dataset"),
        fields=(
            Field(
                path="train.dataset.path",
                label=_("File"),
                suggestions="datasets",
                required=True,
                hint=_("Choose a registered dataset or type a path: a file, a folder, or a pattern like data/*.jsonl."),
            ),
            Field(
                path="train.dataset.format",
                label=_("Format"),
                kind="choice",
                choices=_choices(spec.DatasetFormat, FORMAT_LABELS),
                required=True,
            ),
        ),
    ),
    Section(
        name="data_more",
        title=_("More about the dataset"),
        folded=True,
        hint=_("Names of columns and roles are needed only where they are not the format's own."),
        fields=(
            Field(
                path="train.dataset.train_on",
                label=_("What is learnt"),
                kind="choice",
                choices=_choices(spec.TrainOn, TRAIN_ON_LABELS),
            ),
            Field(
                path="train.dataset.broken_rows",
                label=_("Rows that cannot be read"),
                kind="choice",
                choices=_choices(spec.BrokenRows, BROKEN_ROWS_LABELS),
                hint=_("Of a file that breaks off, all that stands behind that place is lost."),
            ),
            Field(
                path="train.dataset.template",
                label=_("Chat template"),
                kind="choice",
                choices=(("", _("the tokenizer's own, else its family's")), *((name, name) for name in families.NAMES)),
            ),
            Field(
                path="train.packing",
                label=_("Packing"),
                kind="yes_no",
                choices=(("", _("as the framework does it")), ("true", _("yes")), ("false", _("no"))),
                hint=_(
                    "Several rows in one sample of the sequence length; they never see each other. "
                    "Without a choice, conversations are not packed."
                ),
            ),
            *_names("columns", COLUMN_LABELS, COLUMN_DEFAULTS),
            *_names("tags", TAG_LABELS, TAG_DEFAULTS),
        ),
    ),
    Section(
        name="training",
        title=_("Training"),
        fields=(
            Field(
                path="train.stage",
                label=_("Stage"),
                kind="choice",
                choices=_choices(spec.TrainStage, STAGE_LABELS),
                required=True,
            ),
            Field(
                path="train.strategy",
                label=_("Strategy"),
                kind="choice",
                choices=_choices(spec.Strategy, STRATEGY_LABELS),
                required=True,
            ),
            Field(
                path="train.seq_length",
                label=_("Sequence length"),
                kind="int",
                suggestions="lengths",
                required=True,
                hint=_("Tokens in one sample, prompt and answer together."),
            ),
            Field(
                path="train.global_batch_size",
                label=_("Global batch size"),
                kind="int",
                placeholder=DECIDED,
                hint=_("Samples in one iteration over all devices."),
            ),
            Field(path="train.epochs", label=_("Epochs"), kind="float", hint=_("Passes over the dataset.")),
            Field(
                path="train.train_iters",
                label=_("Iterations"),
                kind="int",
                placeholder=_("from the epochs"),
                hint=_("Instead of epochs."),
            ),
            Field(path="train.learning_rate", label=_("Learning rate"), kind="float", placeholder="1e-5"),
        ),
    ),
    Section(
        name="lora",
        title=_("LoRA"),
        folded=True,
        hint=_("Read only when the strategy is LoRA."),
        fields=(
            Field(path="train.lora.rank", label=_("Rank"), kind="int", placeholder="8"),
            Field(path="train.lora.alpha", label=_("Alpha"), kind="float", placeholder="16"),
            Field(path="train.lora.dropout", label=_("Dropout"), kind="float", placeholder="0"),
            Field(
                path="train.lora.target_modules",
                label=_("Layers with adapters"),
                kind="words",
                wide=True,
                placeholder=_("every linear layer"),
                hint=_("Names such as q_proj v_proj, separated by spaces."),
            ),
        ),
    ),
    Section(
        name="advanced",
        title=_("More about the training"),
        folded=True,
        fields=(
            Field(path="train.micro_batch_size", label=_("Micro batch size"), kind="int", placeholder=DECIDED),
            Field(
                path="train.min_learning_rate",
                label=_("Lowest learning rate"),
                kind="float",
                placeholder=_("a tenth of the learning rate"),
            ),
            Field(path="train.seed", label=_("Random seed"), kind="int", placeholder="1234"),
            Field(path="train.save_interval", label=_("Iterations between checkpoints"), kind="int", placeholder="100"),
            Field(
                path="train.sample_prompts",
                label=_("Prompts to answer before and after"),
                kind="lines",
                wide=True,
                hint=_("One a line. The job page shows both answers."),
            ),
        ),
    ),
    Section(
        name="layout",
        title=_("Parallel layout"),
        folded=True,
        hint=_("Leave empty what the planner should decide."),
        fields=(
            Field(path="train.layout.tensor_parallel_size", label=_("Tensor parallel size"), kind="int"),
            Field(path="train.layout.pipeline_parallel_size", label=_("Pipeline parallel size"), kind="int"),
            Field(path="train.layout.context_parallel_size", label=_("Context parallel size"), kind="int"),
            Field(path="train.layout.expert_parallel_size", label=_("Expert parallel size"), kind="int"),
            Field(
                path="train.layout.zero_stage",
                label=_("ZeRO stage"),
                kind="choice",
                choices=(("", DECIDED), *((str(stage), str(stage)) for stage in range(4))),
            ),
            Field(
                path="train.layout.recompute",
                label=_("Recompute activations"),
                kind="choice",
                choices=(("", DECIDED), *_choices(spec.Recompute, RECOMPUTE_LABELS)),
            ),
        ),
    ),
    Section(
        name="resume",
        title=_("Resuming"),
        folded=True,
        fields=(
            Field(
                path="train.resume.checkpoint_path",
                label=_("Continue from this checkpoint"),
                wide=True,
                placeholder=_("start afresh"),
            ),
            Field(
                path="train.resume.auto_recovery",
                label=_("Continue by itself after an interruption"),
                kind="flag",
                wide=True,
            ),
        ),
    ),
)
FIELDS: dict[str, Field] = {field.path: field for section in SECTIONS for field in section.fields}
CONSTANTS = {"spec_version": spec.SPEC_VERSION, "kind": "train"}
