"""The files of a dataset: one file, those of a folder, or those of a glob; always in the same order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.failures import Failure
from engine.roots import Roots, resolved

PATH = "train.dataset.path"
SUFFIXES = (".json", ".jsonl", ".csv", ".parquet", ".txt")
"""Endings that are read out of a folder; other files beside them (a README, a script) are passed over."""
MOST_FILES = 100_000
_OF_MODELS = ("tokenizer_config.json", "tokenizer.json", "generation_config.json", "config.json")


@dataclass(frozen=True, slots=True)
class DataFile:
    path: Path
    """The real path, inside the roots."""
    name: str
    """Below the dataset's folder, with slashes; what a person is told."""


def find(path: str | Path, roots: Roots = None, field: str = PATH) -> tuple[DataFile, ...]:
    """The files that a path means, at least one, sorted by name.

    A folder means the files with a known ending in it and below it; hidden ones are left out. Links are
    followed, and where each leads is held to the roots.

    Raises Failure `dataset.missing`, `dataset.not_a_file`, `dataset.model_folder`, `dataset.no_files`,
    `dataset.many_files`, `path.unusable` or `path.outside`; and OSError.
    """
    if _is_glob(path):
        return _matching(str(path), roots, field)
    real = resolved(path, field, roots)
    if not real.exists():
        raise Failure("dataset.missing", field, path=str(path)[:200])
    if real.is_dir():
        if any((real / name).exists() for name in _OF_MODELS):
            raise Failure("dataset.model_folder", field, path=str(path)[:200])
        return _collected(path, real, _below(real), roots, field)
    if not real.is_file():  # a device, a pipe
        raise Failure("dataset.not_a_file", field, path=str(path)[:200])
    return (DataFile(real, Path(path).name),)


def regular(files: tuple[DataFile, ...], field: str = PATH) -> tuple[DataFile, ...]:
    """The same files, once it is sure that opening them waits for nobody.

    Raises Failure `dataset.not_a_file` for the first pipe, socket or device among them.
    """
    for file in files:
        if file.path.exists() and not file.path.is_file():
            raise Failure("dataset.not_a_file", field, path=file.name[:200])
    return files


def _is_glob(path: str | Path) -> bool:
    """Brackets are in names of real files too: what is there is never a pattern."""
    text = str(path)
    try:
        return any(character in text for character in "*?[") and not Path(path).exists()
    except (OSError, ValueError):
        return False


def _matching(pattern: str, roots: Roots, field: str) -> tuple[DataFile, ...]:
    still = next(place for place, part in enumerate(Path(pattern).parts) if glob.has_magic(part))
    folder = Path(*Path(pattern).parts[:still])
    real = resolved(folder, field, roots)
    rest = str(Path(*Path(pattern).parts[still:]))
    try:
        return _collected(pattern, real, _shown(real, rest), roots, field)
    except (ValueError, NotImplementedError):  # two stars that are not a whole part
        raise Failure("path.unusable", field, path=pattern[:200]) from None


def _shown(folder: Path, pattern: str) -> Iterator[Path]:
    """Files that match; as in a shell, hidden ones only where the pattern has a point too."""
    hidden = "." in (part[0] for part in Path(pattern).parts)
    for path in folder.glob(pattern):
        parts = path.relative_to(folder).parts
        if path.is_file() and (hidden or not any(part.startswith(".") for part in parts)):
            yield path


def _below(folder: Path) -> Iterator[Path]:
    """Every file with a known ending; links to folders are not followed, so that there is no loop."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if _is_data(name))


def _is_data(name: str) -> bool:
    return not name.startswith(".") and name.lower().endswith(SUFFIXES)


def _collected(
    asked: str | Path, folder: Path, found: Iterator[Path], roots: Roots, field: str
) -> tuple[DataFile, ...]:
    files: dict[str, DataFile] = {}
    for path in found:
        name = path.relative_to(folder).as_posix()
        files[name] = DataFile(resolved(path, field, roots), name)
        if len(files) > MOST_FILES:
            raise Failure("dataset.many_files", field, path=str(asked)[:200], limit=MOST_FILES)
    if not files:
        raise Failure("dataset.no_files", field, path=str(asked)[:200], endings=", ".join(SUFFIXES))
    return tuple(files[name] for name in sorted(files))
