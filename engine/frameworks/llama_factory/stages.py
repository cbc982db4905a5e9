"""The stages of a LLaMA-Factory run, and the commands that start them: preprocess → train → export.

    preprocess   ours: the rows in the one form that LLaMA-Factory cannot misread, none dropped unsaid
    train        ours tidies what an interrupted training has left; then theirs, by torchrun, from config/train.yaml
    export       ours checks that all rows were read; theirs merges the adapter and writes output/model

Everything runs with the run's folder as its working directory and names files relative to it: torchrun splits
arguments at blanks, so that a path with one would not arrive (LLaMA-Factory's launcher does the same).
"""

from __future__ import annotations

from engine.architecture import Architecture
from engine.frameworks.llama_factory import config
from engine.frameworks.llama_factory.templates import OF_FAMILY
from engine.frameworks.native.stages import PATIENT_THREADS
from engine.plan import Batch, Command, Layout, Stage
from engine.spec import JobSpec

PYTHON = "{llama_factory_python}"
TRAIN, EXPORT, DEEPSPEED = "config/train.yaml", "config/export.yaml", config.DEEPSPEED
ROWS, INFO, REPORT = "data/train.jsonl", "data/dataset_info.json", "data/report.json"
TRAINED = "checkpoints/train_results.json"
"""Written when the training has reached its end and its weights are saved."""
MODEL = ("output/model/config.json", "output/model/model*.safetensors*", "output/model/tokenizer_config.json")
ADAPTER = ("output/adapter/adapter_config.json", "output/adapter/adapter_model.safetensors")
ENVIRONMENT = {
    "HF_DATASETS_CACHE": "{run_dir}/data/cache",
    "HF_HUB_OFFLINE": "1",
    "PYTHONSAFEPATH": "1",  # the working directory holds folders such as data, which are no packages
    "USE_V1": "0",
    "USE_MCA": "0",
    "USE_RAY": "0",
}
"""The run keeps to its own folder, downloads nothing, and is the engine that the settings are written for."""


def stages(
    spec: JobSpec,
    layout: Layout,
    batch: Batch,
    architecture: Architecture | None,
    *,
    nodes: int = 1,
    template: str = "",
) -> tuple[Stage, ...]:
    """Every stage in order. Outputs are relative to the run folder.

    template: the name of the chat template in the model's row, where the request names none; empty: LLaMA-Factory
    takes the tokenizer's own.
    """
    template = OF_FAMILY.get(spec.train.dataset.template or "", template)
    remote = architecture is not None and architecture.remote_code
    lora = spec.train.strategy == "lora"
    return (
        Stage(name="preprocess", commands=(_ours("preprocess"),), outputs=(ROWS, INFO, REPORT)),
        Stage(
            name="train",
            commands=(_ours("train"), _training(spec, layout, nodes)),
            inputs=(ROWS, INFO),
            outputs=(TRAINED, "checkpoints/adapter_config.json" if lora else "checkpoints/config.json"),
            files=config.train_files(spec, layout, batch, template=template, remote_code=remote),
            follows_log=True,
        ),
        Stage(
            name="export",
            commands=(_ours("export"), _theirs(spec, "llamafactory.cli", "export", EXPORT)),
            inputs=(TRAINED,),
            outputs=(*MODEL, *(ADAPTER if lora else ())),
            files={EXPORT: config.export_yaml(spec, template=template, remote_code=remote)},
        ),
    )


def _ours(stage: str) -> Command:
    argv = ("{python}", "-m", "engine.frameworks.llama_factory", f"{{run_dir}}/stages/{stage}/stage.json")
    return Command(argv=argv)


def _theirs(spec: JobSpec, *arguments: str) -> Command:
    return Command(argv=(PYTHON, "-m", *arguments), env=_environment(spec), cwd="{run_dir}")


def _environment(spec: JobSpec) -> dict[str, str]:
    return ENVIRONMENT | (PATIENT_THREADS if spec.hardware == "cpu" else {})


def _training(spec: JobSpec, layout: Layout, nodes: int) -> Command:
    """A process alone on a CPU directly; else by torchrun, as `llamafactory-cli train` does with FORCE_TORCHRUN=1.

    It is started here without that launcher, which looks for `torchrun` on the PATH and leaves its processes behind
    when it is asked to end.
    """
    if spec.hardware == "cpu" and layout.devices == 1:
        return _theirs(spec, "llamafactory.cli", "train", TRAIN)
    each = layout.devices // nodes
    launcher = ("torch.distributed.run", "--nnodes", str(nodes), "--node_rank", "{node_rank}")
    meeting = ("--master_addr", "{master_addr}", "--master_port", "{master_port}")
    arguments = (*launcher, "--nproc_per_node", str(each), *meeting, "-m", "llamafactory.launcher", TRAIN)
    return _theirs(spec, *arguments).model_copy(update={"processes_per_node": each, "nodes": nodes})
