"""Checkpoints: weights and state to resume, as `checkpoints/iter_0000010/`.

    weights.safetensors   the trained parameters by name (full: all; lora: the adapters)
    optimizer.pt          state of the optimizer
    state.json            `Progress`
    done                  marker, written last

`latest_checkpointed_iteration.txt` names the newest one, as Megatron does. There is no random state to
keep: the generator of iteration k is seeded by (seed, k, rank).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict
from safetensors.torch import load_file, save_file
from torch import nn

from engine.failures import Failure
from engine.run_folder import KEPT_CHECKPOINTS, complete_checkpoints, newest_checkpoint, write_atomic
from engine.spec import Strategy
from engine.weights.folder import sync, whole_folder

LATEST = "latest_checkpointed_iteration.txt"
WEIGHTS, OPTIMIZER, STATE, MARKER = "weights.safetensors", "optimizer.pt", "state.json", "done"


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


def name(iteration: int) -> str:
    return f"iter_{iteration:07d}"


def save(checkpoints: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Write a checkpoint, point to it, and remove the ones that are older than the last few."""
    for half in checkpoints.glob(".iter_*.tmp"):  # of a process that was killed while it saved
        shutil.rmtree(half, ignore_errors=True)
    with whole_folder(checkpoints / name(progress.iteration)) as folder:
        save_file(trained_parameters(model), folder / WEIGHTS)
        torch.save(optimizer.state_dict(), folder / OPTIMIZER)
        (folder / STATE).write_text(progress.model_dump_json() + "\n", encoding="utf-8")
        for file in folder.iterdir():
            sync(file)
        (folder / MARKER).touch()
    point(checkpoints, progress.iteration)
    for old in complete(checkpoints)[:-KEPT_CHECKPOINTS]:
        shutil.rmtree(old)


def point(checkpoints: Path, iteration: int) -> None:
    """Name the newest checkpoint."""
    write_atomic(checkpoints / LATEST, f"{iteration}\n")


def trained_parameters(model: nn.Module) -> dict[str, torch.Tensor]:
    """Trained parameters by name; one that is used twice (tied embeddings) appears once."""
    return {key: value.detach().contiguous() for key, value in model.named_parameters() if value.requires_grad}


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


def load_weights(folder: Path, model: nn.Module) -> None:
    """Put the checkpoint's parameters into the model. Raises Failure `checkpoint.unfit` if they are others."""
    tensors = load_file(folder / WEIGHTS)
    _check_fit(folder, trained_parameters(model), tensors)
    model.load_state_dict(tensors, strict=False)


def load_optimizer(folder: Path, optimizer: torch.optim.Optimizer) -> None:
    state: dict[str, Any] = torch.load(folder / OPTIMIZER, map_location="cpu", weights_only=True)
    optimizer.load_state_dict(state)


def _check_fit(folder: Path, own: Mapping[str, torch.Tensor], stored: Mapping[str, torch.Tensor]) -> None:
    for key in sorted(own.keys() | stored.keys()):
        mine, theirs = own.get(key), stored.get(key)
        if mine is None or theirs is None or mine.shape != theirs.shape:
            raise Failure("checkpoint.unfit", "", "software", path=str(folder), parameter=key)
