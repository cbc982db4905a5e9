"""A model's folder: which files it consists of, and that none of them leads elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from engine.failures import Failure
from engine.roots import Roots, resolved

PATH = "model_path"
INDEX = "model.safetensors.index.json"
WEIGHTS = "model.safetensors"
ADAPTER = "adapter_config.json"
MOST_FILES = 10_000


def guarded(path: str | Path, roots: Roots) -> Path:
    """The real folder. Raises Failure when it, a link in it or a file that its index names leads out of the
    roots, and when it is an adapter, which names another folder to load."""
    folder = resolved(path, PATH, roots)
    for link in _links(folder):
        resolved(link, PATH, roots)
    for name in shards(folder):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise Failure("model_path.shard_elsewhere", PATH, path=str(path)[:200], file=name[:200])
    if (folder / ADAPTER).exists():
        raise Failure("model_path.adapter", PATH, path=str(path)[:200])
    return folder


def _links(folder: Path) -> Iterator[Path]:
    """Every symbolic link in a folder, at whatever depth."""
    seen = 0
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            seen += 1
            if seen > MOST_FILES:
                raise Failure("model_path.too_many_files", PATH, path=str(folder)[:200], limit=MOST_FILES)
            if (entry := Path(parent, name)).is_symlink():
                yield entry


def shards(folder: Path) -> list[str]:
    """Names of the files of weights in the index, sorted; empty without a usable index."""
    index = read_json_object(folder / INDEX)
    weight_map = None if index is None else index.get("weight_map")
    return sorted(set(map(str, weight_map.values()))) if isinstance(weight_map, dict) else []


def weight_files(folder: Path) -> list[Path]:
    """The files that transformers reads the weights from: one, or the shards of the index."""
    single = folder / WEIGHTS
    return [single] if single.is_file() else [folder / name for name in shards(folder)]


def read_json_object(file: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None if there is none."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
