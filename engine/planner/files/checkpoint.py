"""The checkpoint that a training is to go on from: is it there, and is it the one that will be loaded?

MindSpeed-LLM loads the iteration that `latest_checkpointed_iteration.txt` names, whatever directory one means;
LLaMA-Factory loads the directory `checkpoint-<step>` that it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from engine.failures import Failure
from engine.problems import Problem, Value
from engine.roots import Roots, resolved

PATH = "train.resume.checkpoint_path"
LATEST = "latest_checkpointed_iteration.txt"
STATE = "trainer_state.json"
_ITERATION = re.compile(r"iter_(\d+)")
_STEP = re.compile(r"checkpoint-(\d+)")


def problems(path: str, framework: str, roots: Roots) -> Iterator[Problem]:
    """What keeps the framework from loading this checkpoint."""
    try:
        folder = resolved(path, PATH, roots)
        if not folder.is_dir():
            yield _problem("resume.missing", path=path[:200])
        elif framework == "llama-factory":
            yield from _of_trainer(folder, path)
        else:
            yield from _of_megatron(folder, path)
    except Failure as failure:
        yield failure.problem
    except OSError as error:
        yield _problem("resume.unreadable", path=path[:200], error=error.strerror or type(error).__name__)


def _of_megatron(folder: Path, path: str) -> Iterator[Problem]:
    """`folder` is the one that holds the iterations, or the directory of one of them."""
    wanted = _number(_ITERATION, folder)
    home = folder if wanted is None else folder.parent
    there = _numbers(_ITERATION, home)
    names = ", ".join(str(number) for number in there[-5:]) or "-"
    marker = home / LATEST
    if not marker.is_file():
        yield _problem("resume.no_latest", path=str(home)[:200], file=LATEST, there=names)
        return
    named = marker.read_text(encoding="utf-8", errors="replace").strip()[:40]
    if not (named.isascii() and named.isdecimal()):
        yield _problem("resume.bad_latest", path=str(home)[:200], file=LATEST, named=named, there=names)
    elif int(named) not in there:
        yield _problem("resume.no_iteration", path=str(home)[:200], file=LATEST, named=int(named), there=names)
    elif wanted is not None and wanted != int(named):
        yield _problem("resume.other_iteration", path=path[:200], file=LATEST, named=int(named), wanted=wanted)


def _of_trainer(folder: Path, path: str) -> Iterator[Problem]:
    if (folder / STATE).is_file():
        return
    steps = _numbers(_STEP, folder)
    if _number(_STEP, folder) is None and steps:
        newest = folder / f"checkpoint-{steps[-1]}"
        yield _problem("resume.folder_of_steps", {PATH: str(newest)}, path=path[:200], newest=newest.name)
    else:
        yield _problem("resume.no_state", path=path[:200], file=STATE)


def _number(pattern: re.Pattern[str], folder: Path) -> int | None:
    found = pattern.fullmatch(folder.name)
    return None if found is None else int(found[1])


def _numbers(pattern: re.Pattern[str], folder: Path) -> list[int]:
    """Of the directories in it that are named so and hold something, in order."""
    inside = (entry for entry in folder.iterdir() if entry.is_dir() and any(entry.iterdir()))
    return sorted(number for entry in inside if (number := _number(pattern, entry)) is not None)


def _problem(code: str, nearest: dict[str, Value] | None = None, /, **parameters: Value) -> Problem:
    return Problem(code=code, field=PATH, parameters=parameters, nearest=nearest or {})
