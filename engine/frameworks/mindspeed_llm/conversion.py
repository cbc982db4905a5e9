"""The commands that turn weights from Hugging Face's layout into Megatron's and back.

There are two converters (see `profiles`). Both are told the type of the numbers, the split and the kind of model in
the same words as the training; what they leave to a default is wrong here (fp16, a padded vocabulary).
"""

from __future__ import annotations

from engine.architecture import Architecture
from engine.frameworks.mindspeed_llm.arguments.run import CHECKPOINTS, WEIGHTS
from engine.frameworks.mindspeed_llm.families import Family
from engine.frameworks.mindspeed_llm.lora import ALL_MODULES, modules
from engine.frameworks.mindspeed_llm.profiles import NEW, OLD, Profile
from engine.frameworks.mindspeed_llm.split import split_of
from engine.plan import Layout
from engine.spec import JobSpec

ORIGINAL = "{run_dir}/output/original"
"""A folder of links to the model's files: convert_ckpt.py writes into the folder that it takes the tokenizer from."""
CONVERTED = "output/original/mg2hf"
"""Where it writes, relative to the run folder."""
NEW_CONVERTED = "output/converted"


def to_megatron(
    spec: JobSpec, layout: Layout, shape: Architecture, family: Family, profile: Profile, model_path: str
) -> list[str]:
    """Program and words."""
    sizes = [
        *("--target-tensor-parallel-size", str(layout.tensor_parallel_size)),
        *("--target-pipeline-parallel-size", str(layout.pipeline_parallel_size)),
    ]
    if layout.expert_parallel_size > 1:
        sizes += ["--target-expert-parallel-size", str(layout.expert_parallel_size)]
    places = ["--load-dir", model_path, "--save-dir", WEIGHTS]
    split = split_of(shape, layout)
    if profile.converter(family) == OLD:
        return [
            *(OLD, "--model-type", "GPT", "--load-model-type", "hf", "--save-model-type", "mg", *places, *sizes),
            *("--tokenizer-model", f"{model_path}/{family.tokenizer_file}", "--make-vocab-size-divisible-by", "1"),
            *split.arguments(),
            *_old_kind(spec, shape, family),
        ]
    return [
        *(NEW, "--load-model-type", "hf", "--save-model-type", "mg", *places, *sizes, *split.arguments()),
        *_new_kind(spec, shape, family),
    ]


def to_hugging_face(
    spec: JobSpec, layout: Layout, shape: Architecture, family: Family, profile: Profile, model_path: str
) -> list[str]:
    """The merged model: with LoRA the converted weights and the adapters, else the newest checkpoint."""
    adapted = spec.train.strategy == "lora"
    source = WEIGHTS if adapted else CHECKPOINTS
    adapters = _adapters(spec) if adapted else []
    if profile.converter(family) == OLD:
        empty = split_of(shape, layout)
        loosely = [*empty.arguments(), "--load-checkpoint-loosely"] if empty.empty else []
        return [
            *(OLD, "--model-type", "GPT", "--load-model-type", "mg", "--save-model-type", "hf"),
            *("--load-dir", source, "--save-dir", ORIGINAL),
            *("--target-tensor-parallel-size", "1", "--target-pipeline-parallel-size", "1", *loosely),
            *_old_kind(spec, shape, family),
            *adapters,
        ]
    return [
        *(NEW, "--load-model-type", "mg", "--save-model-type", "hf", "--load-dir", source),
        *(
            "--save-dir",
            f"{{run_dir}}/{NEW_CONVERTED}",
            "--hf-cfg-dir",
            model_path,
            *split_of(shape, layout).arguments(),
        ),
        *_new_kind(spec, shape, family),
        *adapters,
    ]


def converted_folder(family: Family, profile: Profile) -> str:
    """Where the way back leaves the model, relative to the run folder."""
    return CONVERTED if profile.converter(family) == OLD else NEW_CONVERTED


def _old_kind(spec: JobSpec, shape: Architecture, family: Family) -> list[str]:
    found = ["--use-mcore-models", "--params-dtype", "bf16", "--model-type-hf", family.old_type or ""]
    if shape.qkv_bias:
        found.append("--add-qkv-bias")
    if family.packed:
        found += ["--w-pack", "True"]
    if shape.experts is not None and spec.train.strategy != "lora":
        found.append("--moe-grouped-gemm")
    return found


def _new_kind(spec: JobSpec, shape: Architecture, family: Family) -> list[str]:
    """Layers and experts are counted from config.json: a number that includes the empty layers is refused."""
    found = ["--model-type-hf", family.new_type or ""]
    grouped = shape.experts is not None and spec.train.strategy != "lora"
    return [*found, "--moe-grouped-gemm"] if grouped else found


def _adapters(spec: JobSpec) -> list[str]:
    lora = spec.train.lora
    names = ALL_MODULES if lora.target_modules is None else modules(lora.target_modules)
    return [
        *("--lora-load", CHECKPOINTS, "--lora-r", str(lora.rank), "--lora-alpha", str(int(lora.alpha))),
        *("--lora-target-modules", *names),
    ]
