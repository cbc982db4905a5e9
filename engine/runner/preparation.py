"""`prepare`: fills a run folder with what was asked and what was decided."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ValidationError

from engine.plan import Plan
from engine.roots import Roots
from engine.run_folder import RunFolder, write_atomic
from engine.spec import JobSpec, canonical_json


class FolderInUse(Exception):
    """The folder already holds another run."""


def prepare(folder: RunFolder, spec: JobSpec, plan: Plan, roots: Roots = None) -> None:
    """Write spec.json (relative paths made absolute) and plan.json. Doing it again with the same values is harmless.

    roots: folders in which dataset and weights must lie at the moment when they are opened, too.
    """
    folder.create()
    for path, value in ((folder.spec, with_absolute_paths(spec)), (folder.plan, plan)):
        if not path.exists():
            write_atomic(path, canonical_json(value))
        elif not _holds(path, value):
            raise FolderInUse(f"{folder.path} holds another run: its {path.name} differs")
    write_atomic(folder.roots, json.dumps(None if roots is None else list(map(str, roots))) + "\n")


def _holds(path: Path, value: BaseModel) -> bool:
    """Compared as values: another release may spell the same one differently."""
    try:
        return type(value).model_validate_json(path.read_bytes()) == value
    except ValidationError:
        return False


def with_absolute_paths(spec: JobSpec) -> JobSpec:
    """The spec as processes read it, wherever they run."""
    train = spec.train
    dataset = train.dataset.model_copy(update={"path": _absolute(train.dataset.path)})
    resume = train.resume
    if resume.checkpoint_path is not None:
        resume = resume.model_copy(update={"checkpoint_path": _absolute(resume.checkpoint_path)})
    train = train.model_copy(update={"dataset": dataset, "resume": resume})
    return spec.model_copy(update={"model_path": _absolute(spec.model_path), "train": train})


def _absolute(path: str) -> str:
    return str(Path(path).absolute())
