"""How it is trained: parallel sizes, batch, learning rate, data, adapters, and what is saved and loaded."""

from __future__ import annotations

from engine.frameworks.mindspeed_llm.families import Family
from engine.frameworks.mindspeed_llm.lora import ALL_MODULES, modules
from engine.plan import Batch, Layout
from engine.spec import JobSpec

DATA = "{run_dir}/data/train"
WEIGHTS = "{run_dir}/weights"
CHECKPOINTS = "{run_dir}/checkpoints"
LOWEST = 0.1
"""Where the learning rate ends, as a share of where it starts, if nobody says."""


def parallel(layout: Layout) -> list[str]:
    found = [
        *("--tensor-model-parallel-size", str(layout.tensor_parallel_size)),
        *("--pipeline-model-parallel-size", str(layout.pipeline_parallel_size)),
    ]
    if layout.context_parallel_size > 1:
        found += ["--context-parallel-size", str(layout.context_parallel_size)]
        found += ["--context-parallel-algo", "megatron_cp_algo", "--use-cp-send-recv-overlap"]
    if layout.tensor_parallel_size > 1:
        found.append("--sequence-parallel")
    if layout.zero_stage:
        found.append("--use-distributed-optimizer")
    if layout.recompute == "full":
        found += ["--recompute-granularity", "full", "--recompute-method", "uniform", "--recompute-num-layers", "1"]
    elif layout.recompute == "selective":
        found += ["--recompute-granularity", "selective"]
    return [*found, "--reuse-fp32-param"] if layout.reuse_fp32_param else found


def schedule(spec: JobSpec, batch: Batch) -> list[str]:
    """Without `--train-iters` where only epochs are known: `steps.start` adds it when the samples are counted."""
    train = spec.train
    least = train.learning_rate * LOWEST if train.min_learning_rate is None else train.min_learning_rate
    length = [] if batch.train_iters is None else ["--train-iters", str(batch.train_iters)]
    return [
        *("--micro-batch-size", str(batch.micro_batch_size), "--global-batch-size", str(batch.global_batch_size)),
        *length,
        *("--lr", _number(train.learning_rate), "--min-lr", _number(least), "--lr-decay-style", "cosine"),
        *("--lr-warmup-fraction", "0.01", "--weight-decay", "0.1", "--clip-grad", "1.0"),
        *("--adam-beta1", "0.9", "--adam-beta2", "0.95", "--init-method-std", "0.01"),
        *("--bf16", "--no-gradient-accumulation-fusion", "--seed", str(train.seed)),
    ]


def data(spec: JobSpec, family: Family, model_path: str, *, nodes: int) -> list[str]:
    """Pre-training names its file of tokens, fine-tuning the prefix of its six files: never the other way round."""
    slow = ["--tokenizer-not-use-fast"] if family.slow_tokenizer else []
    found = [
        *("--data-path", f"{DATA}_text_document" if spec.train.stage == "pretrain" else DATA),
        *("--split", "100,0,0", "--eval-iters", "0"),
        *("--tokenizer-type", "PretrainedFromHF", "--tokenizer-name-or-path", model_path, *slow),
    ]
    if spec.train.stage == "sft":
        found += ["--stage", "sft", "--is-instruction-dataset", "--prompt-type", family.prompt_type]
    return [*found, "--no-shared-storage"] if nodes > 1 else found


def adapters(spec: JobSpec) -> list[str]:
    """Only the adapters are saved: they are merged when the model is converted back."""
    if spec.train.strategy != "lora":
        return []
    lora = spec.train.lora
    names = ALL_MODULES if lora.target_modules is None else modules(lora.target_modules)
    return [
        *("--lora-r", str(lora.rank), "--lora-alpha", str(int(lora.alpha))),
        *("--lora-target-modules", *names, "--lora-ckpt-filter"),
    ]


def checkpoints(spec: JobSpec) -> list[str]:
    """What is loaded: the run's own newest checkpoint with its optimizer, and only where there is none the converted
    weights alone, as for fine-tuning. A folder of adapters is no model to start from: LoRA begins again with the
    weights.
    """
    found = [
        *("--save", CHECKPOINTS, "--save-interval", str(spec.train.save_interval)),
        *("--ckpt-format", "torch", "--transformer-impl", "local", "--exit-on-missing-checkpoint"),
        *("--log-interval", "1", "--log-throughput", "--distributed-backend", "nccl"),
    ]
    if spec.train.resume.checkpoint_path is not None:
        return found  # `steps.start` adds --load: the run's own checkpoint, else the named one
    if spec.train.strategy == "lora":
        return ["--load", WEIGHTS, "--finetune", "--no-load-optim", "--no-load-rng", *found]
    return ["--load", CHECKPOINTS, "--pretrained-checkpoint", WEIGHTS, *found]


def _number(value: float) -> str:
    return f"{value:.10g}"
