"""The stages of a native run, and the commands that start them: preprocess → train → export."""

from __future__ import annotations

from engine.architecture import Architecture
from engine.dataset_files import PREFIX, file_names
from engine.plan import Batch, Command, Layout, Stage
from engine.spec import JobSpec

REPORT = "data/report.json"
LATEST = "checkpoints/latest_checkpointed_iteration.txt"
SAMPLES = "output/samples.json"
MODEL = ("output/model/config.json", "output/model/model.safetensors")
PATIENT_THREADS = {"OMP_WAIT_POLICY": "PASSIVE"}
"""OpenMP's threads wait by spinning unless told otherwise: a few per cent faster alone, but ten times slower as
soon as another process wants a core (measured: 48 tokens in 60 s against 7 s on 2 busy cores)."""
ADAPTER = ("output/adapter/adapter_config.json", "output/adapter/adapter_model.safetensors")


def stages(
    spec: JobSpec,
    layout: Layout,
    _batch: Batch,
    _architecture: Architecture | None,
    *,
    nodes: int = 1,
    template: str = "",
) -> tuple[Stage, ...]:
    """Every stage in order. Outputs are relative to the run folder. The batch reaches the processes in their file."""
    del template  # the tokenizer's own is taken
    assert nodes == 1, "processes on a CPU are on one machine"
    prompts = (SAMPLES,) if spec.train.sample_prompts else ()
    tokens = tuple(f"data/{PREFIX}_{name}" for name in file_names(spec.train.stage))
    adapter = ADAPTER if spec.train.strategy == "lora" else ()
    return (
        Stage(name="preprocess", commands=(_alone("preprocess", "engine.preprocess"),), outputs=(*tokens, REPORT)),
        Stage(name="train", commands=(_training(layout),), inputs=tokens, outputs=(LATEST, *prompts)),
        Stage(
            name="export", commands=(_alone("export", "engine.weights"),), inputs=(LATEST,), outputs=(*MODEL, *adapter)
        ),
    )


def _alone(stage: str, module: str) -> Command:
    return Command(argv=("{python}", "-m", module, _stage_file(stage)), env=PATIENT_THREADS)


def _training(layout: Layout) -> Command:
    """One process directly; several by torchrun, which gives them rank and address."""
    if layout.devices == 1:
        return _alone("train", "engine.training")
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(layout.devices))
    argv = ("{python}", *launcher, "-m", "engine.training", _stage_file("train"))
    return Command(argv=argv, env=PATIENT_THREADS, processes_per_node=layout.devices)


def _stage_file(stage: str) -> str:
    return f"{{run_dir}}/stages/{stage}/stage.json"
