"""`Plan`: every decision about a job, each with its reason. Values only; made by `engine.planner`."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from engine.problems import Value

T = TypeVar("T")


def _by_key(value: dict[str, T]) -> dict[str, T]:
    return dict(sorted(value.items()))


Sorted = Annotated[dict[str, T], AfterValidator(_by_key)]
"""A mapping in the order of its keys, so that a plan is the same text after a database has kept it in another order."""


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Layout(Frozen):
    """Parallel sizes. Their product (without the expert size) is the number of devices."""

    devices: int = Field(ge=1)
    tensor_parallel_size: int = Field(default=1, ge=1)
    pipeline_parallel_size: int = Field(default=1, ge=1)
    context_parallel_size: int = Field(default=1, ge=1)
    expert_parallel_size: int = Field(default=1, ge=1)
    data_parallel_size: int = Field(ge=1)
    zero_stage: int = Field(default=0, ge=0, le=3)
    recompute: str = "none"
    reuse_fp32_param: bool = False
    """MindSpeed-LLM keeps the bf16 weight inside its fp32 copy, which saves memory where it is short."""

    @model_validator(mode="after")
    def _product_is_devices(self) -> Layout:
        product = (
            self.tensor_parallel_size
            * self.pipeline_parallel_size
            * self.context_parallel_size
            * self.data_parallel_size
        )
        if product != self.devices:
            raise ValueError(f"tensor x pipeline x context x data = {product}, but there are {self.devices} devices")
        return self


class Batch(Frozen):
    """How samples become iterations."""

    micro_batch_size: int
    global_batch_size: int
    gradient_accumulation_steps: int
    """Micro-batches that each replica adds up in one iteration."""
    train_iters: int | None
    """Null: known after preprocessing, from `epochs` and the number of samples."""
    epochs: float | None


class Reason(Frozen):
    """Why something was decided; text by code in `engine/problem_texts.py`, like a Problem's."""

    decision: str
    """What was decided: a path in the plan, such as `batch.micro_batch_size`."""
    code: str
    parameters: Sorted[Value] = {}


class Command(Frozen):
    """Processes to start. Placeholders (`engine.frameworks.placeholders`) in argv, env and cwd are filled in by the
    runner.

    Whoever starts it runs it once a node; `processes_per_node` says how many ranks it makes there.
    """

    argv: tuple[str, ...]
    env: Sorted[str] = {}
    cwd: str | None = None
    """Null: the working directory of whoever runs it, so that relative paths of the spec hold."""
    processes_per_node: int = 1
    nodes: int = 1
    """On so many nodes it must run at once; this release starts a run on one."""


class Stage(Frozen):
    """A step. A stage whose done-marker is there is skipped on a rerun."""

    name: str
    commands: tuple[Command, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    """Paths, relative to the run folder, which must exist and be non-empty for the stage to have succeeded.
    One with * is there when a file fits it."""
    files: Sorted[str] = {}
    """Files that the stage's commands read, relative to the run folder → their text; placeholders as in argv."""
    follows_log: bool = False
    """Its processes are a framework's own, and its metrics are lines of its log (`output.py` of the framework)."""


class Memory(Frozen):
    """An estimate of the fullest device at its peak."""

    per_device_gib: float
    """The sum of `breakdown`."""
    usable_gib: float | None
    """What a device of this kind reports as its capacity; null where that is not known."""
    breakdown: Sorted[float]
    """GiB of weights, gradients, optimizer, activations, logits, buffers and runtime (what no tensor can have)."""


class Eta(Frozen):
    """How long the training itself takes; always a range."""

    seconds_low: float
    seconds_high: float
    basis: str
    """`own_runs`, `own_runs_scaled` (of another length), `default_mfu` (a share of the peak that is usual for such a
    job), `cpu_measured` (of this site's machines) or `cpu_cores`; a reason says more."""


class Plan(Frozen):
    """What will happen. The same spec and catalog always give the same plan, byte for byte."""

    layout: Layout
    batch: Batch
    memory: Memory | None
    """Null where no estimate exists; a reason says so."""
    eta: Eta | None
    reasons: tuple[Reason, ...]
    stages: tuple[Stage, ...]


class DeviceNeed(Frozen):
    """The answer of the minimum-device table, and what is known beside it."""

    table: int | None
    """The printed number; null when there is no row, or the row says unsupported."""
    unsupported: bool
    floor: int | None = None
    """By the memory model: the smallest number on which the best layout fits."""
    recommended: int | None = None
    """By the memory model, with the usual settings and room; of a doubted row the safer number."""
    estimate: int | None = None
    """The table's number that is marked as an estimate; where a page prints one it is null."""
    suspect: str | None = None
    """Why the printed number is doubted."""
