"""Checkpoints: weights and state to resume, as `checkpoints/iter_0000010/`.

    .metadata __<rank>_0.distcp   the trained parameters by their whole names (full: all; lora: the adapters) and
                                  AdamW's state of each, as torch.distributed.checkpoint keeps them: every process
                                  writes the parts that it holds, and any layout reads them again
    state.json                    `Progress`
    done                          marker, written last

`latest_checkpointed_iteration.txt` names the newest one, as Megatron does. There is no random state to
keep: the generator of iteration k is seeded by (seed, k, place in the layout).
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from pydantic import BaseModel, ConfigDict
from torch import nn

from engine.failures import Failure
from engine.run_folder import KEPT_CHECKPOINTS, complete_checkpoints, newest_checkpoint, write_atomic
from engine.spec import Strategy
from engine.weights.folder import sync, whole_folder

LATEST = "latest_checkpointed_iteration.txt"
STATE, MARKER, CONTENTS = "state.json", "done", ".metadata"
WEIGHTS, OPTIMIZER = "weights", "optimizer"
"""First words of the names within."""
MOMENTS = ("exp_avg", "exp_avg_sq")


class Progress(BaseModel):
    """How far a training has come."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    iteration: int = 0
    """Iterations done."""
    consumed_samples: int = 0
    skipped: int = 0
    """Iterations among them whose update was left out, because a gradient was not finite."""
    strategy: Strategy
    seed: int


class Peers(Protocol):
    """The processes that write a checkpoint together."""

    @property
    def first(self) -> bool: ...
    @property
    def size(self) -> int: ...
    def barrier(self) -> None: ...


def name(iteration: int) -> str:
    return f"iter_{iteration:07d}"


def save(
    checkpoints: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress, peers: Peers
) -> None:
    """Write a checkpoint, point to it, and remove the ones that are older than the last few. All peers call this."""
    target = checkpoints / name(progress.iteration)
    temporary = checkpoints / f".{target.name}.tmp"
    if not peers.first:
        peers.barrier()  # the folder is there
        _write(temporary, model, optimizer, peers)
        peers.barrier()  # the checkpoint is whole
        return
    for half in checkpoints.glob(".iter_*.tmp"):  # of a process that was killed while it saved
        shutil.rmtree(half, ignore_errors=True)
    with whole_folder(target, temporary) as folder:
        peers.barrier()
        _write(folder, model, optimizer, peers)
        (folder / STATE).write_text(progress.model_dump_json() + "\n", encoding="utf-8")
        for file in folder.iterdir():
            sync(file)
        (folder / MARKER).touch()
    point(checkpoints, progress.iteration)
    for old in complete(checkpoints)[:-KEPT_CHECKPOINTS]:
        shutil.rmtree(old)
    peers.barrier()


def _write(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, peers: Peers) -> None:
    from torch.distributed.checkpoint.filesystem import FileSystemWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    own = {key: value.detach() for key, value in _trained(model).items()}
    state = {WEIGHTS: own, OPTIMIZER: _moments(model, optimizer)}
    with _plainly():
        save(state, storage_writer=FileSystemWriter(folder), no_dist=peers.size == 1)


def point(checkpoints: Path, iteration: int) -> None:
    """Name the newest checkpoint."""
    write_atomic(checkpoints / LATEST, f"{iteration}\n")


def trained_parameters(model: nn.Module) -> dict[str, torch.Tensor]:
    """Trained parameters by name; one that is used twice (tied embeddings) appears once."""
    return {key: value.detach().contiguous() for key, value in _trained(model).items()}


def _trained(model: nn.Module) -> dict[str, nn.Parameter]:
    return {key: value for key, value in model.named_parameters() if value.requires_grad}


def _moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, dict[str, Any]]:
    return {key: dict(optimizer.state[value]) for key, value in _trained(model).items() if value in optimizer.state}


def is_complete(folder: Path) -> bool:
    return (folder / MARKER).exists()


def complete(checkpoints: Path) -> list[Path]:
    """Whole checkpoints, oldest first."""
    return [folder for _, folder in complete_checkpoints(checkpoints)]


def newest(checkpoints: Path) -> Path | None:
    """The newest whole checkpoint, if there is one."""
    found = newest_checkpoint(checkpoints)
    return None if found is None else found[1]


def read_progress(folder: Path) -> Progress:
    return Progress.model_validate_json((folder / STATE).read_text(encoding="utf-8"))


def require_fit(folder: Path, model: nn.Module) -> None:
    """model: whole. Raises Failure `checkpoint.unfit` if the checkpoint's parameters are others."""
    prefix = f"{WEIGHTS}."
    stored = {key.removeprefix(prefix): size for key, size in _sizes(folder).items() if key.startswith(prefix)}
    own = {key: value.shape for key, value in _trained(model).items()}
    for key in sorted(own.keys() | stored.keys()):
        if own.get(key) != stored.get(key):
            raise Failure("checkpoint.unfit", "", "software", path=str(folder), parameter=key)


def load_weights(folder: Path, model: nn.Module) -> None:
    """Put the checkpoint's parameters into the model, or into the part of it that this process holds."""
    _read(folder, {WEIGHTS: {key: value.detach() for key, value in _trained(model).items()}})


def load_optimizer(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """The state that belongs to the parameters that this process holds, under whatever layout it was saved."""
    stored = _sizes(folder)
    own = {key: value for key, value in _trained(model).items() if f"{OPTIMIZER}.{key}.step" in stored}
    state: dict[str, dict[str, torch.Tensor]] = {
        key: {moment: torch.zeros_like(value.detach()) for moment in MOMENTS} | {"step": torch.tensor(0.0)}
        for key, value in own.items()
    }
    _read(folder, {OPTIMIZER: state})
    for key, value in own.items():
        optimizer.state[value] = state[key]


def _sizes(folder: Path) -> Mapping[str, torch.Size]:
    """Name → shape of the whole tensor. Raises Failure `checkpoint.other_release`."""
    from torch.distributed.checkpoint.filesystem import FileSystemReader

    if not (folder / CONTENTS).exists():
        raise Failure("checkpoint.other_release", "", "software", path=str(folder))
    found = FileSystemReader(folder).read_metadata().state_dict_metadata
    return {key: entry.size for key, entry in found.items() if hasattr(entry, "size")}


def _read(folder: Path, state: dict[str, Any]) -> None:
    """Fill the tensors in place; each process reads what it needs by itself."""
    from torch.distributed.checkpoint.filesystem import FileSystemReader
    from torch.distributed.checkpoint.state_dict_loader import load

    if any(state.values()):
        with _plainly():
            load(state, storage_reader=FileSystemReader(folder), no_dist=True)


@contextmanager
def _plainly() -> Iterator[None]:
    """Errors as they were where they arose, and not a word about a process that is alone."""
    from torch.distributed.checkpoint.api import CheckpointException

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        try:
            yield
        except CheckpointException as error:
            raise next(iter(error.failures.values()))[0] from error
