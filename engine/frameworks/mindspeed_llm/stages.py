"""The stages of a MindSpeed-LLM run and the commands that start them: preprocess → convert → train → export.

Upstream's programs are started with the interpreter and in the checkout that the site names. Between them stand
small steps of our own (`steps`), which make what upstream passes over in silence a failure with a reason: rows that
its handlers would drop, weights of another model, a training that ended without having trained.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from engine.architecture import Architecture
from engine.frameworks.mindspeed_llm import conversion
from engine.frameworks.mindspeed_llm.arguments import model, run
from engine.frameworks.mindspeed_llm.families import Family, family_of
from engine.frameworks.mindspeed_llm.profiles import Profile, chosen
from engine.frameworks.mindspeed_llm.split import shards
from engine.plan import Batch, Command, Layout, Stage
from engine.spec import JobSpec

PYTHON, HOME = "{mindspeed_llm_python}", "{mindspeed_llm_home}"
ROWS = "data/rows.jsonl"
REPORT = "data/report.json"
EXPECTED = "config/model.json"
LATEST = "latest_checkpointed_iteration.txt"
SFT_KEYS = ("input_ids", "attention_mask", "labels")
RESULT = ("output/model/config.json", "output/report.json")
ENVIRONMENT = {
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",  # asserted with tensor or context parallel
    "HCCL_CONNECT_TIMEOUT": "1800",  # seconds; the default of 120 is too short for a slow rank
    "HCCL_EXEC_TIMEOUT": "2160",  # a node that has saved waits this long for the others
    "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
    "TASK_QUEUE_ENABLE": "2",
}
"""Which devices a run may use is said by whoever starts it (ASCEND_RT_VISIBLE_DEVICES)."""


def stages(
    spec: JobSpec,
    layout: Layout,
    batch: Batch,
    architecture: Architecture | None,
    *,
    nodes: int = 1,
    template: str = "",
    profile: Profile | None = None,
) -> tuple[Stage, ...]:
    """Every stage in order; none for a model that no command can be written for (a rule says so).

    Where the release cannot convert back rightly, the run ends with Megatron's checkpoints. Raises UnknownRelease.
    """
    del template  # the families know upstream's own names of the templates
    profile = profile or chosen()
    family = None if architecture is None else family_of(architecture)
    if architecture is None or family is None or profile.converter(family) is None:
        return ()
    # a plan is made where the request is: relative paths mean the same to it, but not to a checkout
    path = str(Path(spec.model_path).absolute())
    found = [
        _preprocess(spec, family, path),
        _convert(spec, layout, architecture, family, profile, path),
        _train(spec, layout, batch, architecture, family, path, nodes),
    ]
    if profile.converts_back(family, architecture):
        found.append(_export(spec, layout, architecture, family, profile, path))
    return tuple(found)


def _preprocess(spec: JobSpec, family: Family, path: str) -> Stage:
    train = spec.train
    slow = ["--tokenizer-not-use-fast"] if family.slow_tokenizer else []
    common = ["preprocess_data.py", "--input", f"{{run_dir}}/{ROWS}", "--output-prefix", run.DATA]
    common += ["--tokenizer-type", "PretrainedFromHF", "--tokenizer-name-or-path", path, *slow]
    common += ["--workers", "4", "--log-interval", "1000", "--cache-dir", "{run_dir}/data/cache"]
    if train.stage == "pretrain":
        words = ["--handler-name", "GeneralPretrainHandler", "--json-keys", "text", "--append-eod"]
        names = ["data/train_text_document"]
    else:
        words = ["--handler-name", "SharegptStyleInstructionHandler", "--prompt-type", family.prompt_type]
        words += ["--seq-length", str(train.seq_length)]
        names = [f"data/train_packed_{key}_document" for key in SFT_KEYS]
    outputs = (f"{name}.{ending}" for name in names for ending in ("bin", "idx"))
    commands = (_step("rows", "preprocess"), _upstream(common + words), _step("kept", "preprocess"))
    return Stage(name="preprocess", commands=commands, outputs=(*outputs, REPORT))


def _convert(spec: JobSpec, layout: Layout, shape: Architecture, family: Family, profile: Profile, path: str) -> Stage:
    words = conversion.to_megatron(spec, layout, shape, family, profile, path)
    saved = (f"weights/iter_0000001/{shard}/model_optim_rng.pt" for shard in shards(layout))
    return Stage(
        name="convert",
        commands=(_step("model", "convert"), _upstream(words)),
        outputs=(f"weights/{LATEST}", *saved),
        files={EXPECTED: _expected(shape, family)},
    )


def _train(
    spec: JobSpec, layout: Layout, batch: Batch, shape: Architecture, family: Family, path: str, nodes: int
) -> Stage:
    program = "posttrain_gpt.py" if spec.train.stage == "sft" else "pretrain_gpt.py"
    words = [
        *(PYTHON, "-m", "torch.distributed.run", *_launcher(layout, nodes), program),
        *run.parallel(layout),
        *model.words(shape, family, layout, spec.train.seq_length, lora=spec.train.strategy == "lora"),
        *run.schedule(spec, batch),
        *run.data(spec, family, path, nodes=nodes),
        *run.adapters(spec),
        *run.checkpoints(spec),
    ]
    begun = batch.train_iters is None or spec.train.resume.checkpoint_path is not None
    command = Command(
        argv=(*_start(), *words) if begun else tuple(words),
        env=ENVIRONMENT,
        cwd=None if begun else HOME,
        processes_per_node=layout.devices // nodes,
        nodes=nodes,
    )
    return Stage(
        name="train",
        commands=(command, _step("trained", "train")),
        inputs=(f"weights/{LATEST}", REPORT),
        outputs=(f"checkpoints/{LATEST}", *_last_checkpoint(layout, batch)),
        follows_log=True,
    )


def _export(spec: JobSpec, layout: Layout, shape: Architecture, family: Family, profile: Profile, path: str) -> Stage:
    words = conversion.to_hugging_face(spec, layout, shape, family, profile, path)
    commands = (_step("original", "export"), _upstream(words), _step("exported", "export"))
    return Stage(name="export", commands=commands, inputs=(f"checkpoints/{LATEST}",), outputs=RESULT)


def _last_checkpoint(layout: Layout, batch: Batch) -> Iterator[str]:
    """Every part of it, where its number is known: exit code 0 says nothing."""
    if batch.train_iters is not None:
        for shard in shards(layout):
            yield f"checkpoints/iter_{batch.train_iters:07d}/{shard}/model_optim_rng.pt"


def _launcher(layout: Layout, nodes: int) -> list[str]:
    """One node picks a free port itself; several are told where the first one listens."""
    each = ["--nproc_per_node", str(layout.devices // nodes)]
    if nodes == 1:
        return ["--standalone", *each]
    address = ["--master_addr", "{master_addr}", "--master_port", "{master_port}"]
    return [*each, "--nnodes", str(nodes), "--node_rank", "{node_rank}", *address]


def _start() -> tuple[str, ...]:
    """Adds what is only known when it starts, then becomes the command behind it."""
    module = "engine.frameworks.mindspeed_llm.steps.start"
    return ("{python}", "-m", module, "{run_dir}/stages/train/stage.json", HOME, "--")


def _upstream(words: list[str]) -> Command:
    return Command(argv=(PYTHON, *words), env=ENVIRONMENT, cwd=HOME)


def _step(name: str, stage: str) -> Command:
    module = f"engine.frameworks.mindspeed_llm.steps.{name}"
    return Command(argv=("{python}", "-m", module, f"{{run_dir}}/stages/{stage}/stage.json"))


def _expected(shape: Architecture, family: Family) -> str:
    """What config.json in the model's folder must say, since the training is told these numbers."""
    facts = {
        "num_hidden_layers": shape.num_hidden_layers,
        "hidden_size": shape.hidden_size,
        "num_attention_heads": shape.num_attention_heads,
        "num_key_value_heads": shape.num_key_value_heads,
        "vocab_size": shape.vocab_size,
        "rms_norm_eps": family.norm_epsilon,
        "rope_theta": shape.rope_theta,
        "tie_word_embeddings": shape.tie_word_embeddings,
    }
    return json.dumps(facts, indent=2, sort_keys=True) + "\n"
