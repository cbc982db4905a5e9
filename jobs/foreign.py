"""Data that other teams have registered for themselves: a request of this team may not name it.

What nobody has registered is common to all who may use the site's folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings

from engine.failures import Failure
from engine.formats.files import find
from engine.problems import Problem
from engine.spec import JobSpec
from jobs.models import Dataset, Team, Weights


def foreign_problems(data: JobSpec | Mapping[str, Any], team: Team | None) -> tuple[Problem, ...]:
    """Findings about the paths of a request, however incomplete; None: it is made for no team at all.

    Nothing is said of the other team, nor of what lies there.
    """
    asked = data.model_dump() if isinstance(data, JobSpec) else data
    return tuple(_problems(asked.get("model_path"), _path_of_dataset(asked), team))


def is_foreign(path: str, team: Team | None) -> bool:
    """Whether this path, or a folder above it, is registered, but not by this team. Symbolic links are followed.

    The nearest registration counts: whoever registers a folder does not get at what others hold in it. Uploads that
    nobody has registered yet are their team's.
    """
    real = _real(path)
    return real is not None and _is_others(real, _held(), team)


def is_foreign_data(path: str, team: Team | None) -> bool:
    """The same for a dataset: none of the files in a folder, or of a glob, may be another team's either."""
    held = _held()
    return any(_is_others(real, held, team) for real in _meant(path))


def _is_others(real: str, held: Mapping[str, set[int]], team: Team | None) -> bool:
    while real not in held:
        above = os.path.dirname(real)  # noqa: PTH120 - far faster than Path, and there may be many files
        if above == real:
            return False
        real = above
    return team is None or team.pk not in held[real]


def _meant(path: str) -> Iterator[str]:
    """The real path itself, and the files in a folder or of a glob."""
    real = _real(path)
    if real is None:
        return
    yield real
    if not os.path.isfile(real):  # noqa: PTH113 - a string is at hand
        try:
            yield from (str(file.path) for file in find(path, settings.ROOTS))
        except (Failure, OSError):  # the check says what is wrong with it
            return


def _problems(model_path: Any, dataset_path: Any, team: Team | None) -> Iterator[Problem]:
    if isinstance(model_path, str) and is_foreign(model_path, team):
        yield Problem(code="weights.other_team", field="model_path", parameters={"path": model_path[:200]})
    if isinstance(dataset_path, str) and is_foreign_data(dataset_path, team):
        yield Problem(code="dataset.other_team", field="train.dataset.path", parameters={"path": dataset_path[:200]})


def _path_of_dataset(asked: Mapping[str, Any]) -> Any:
    part: Any = asked
    for name in ("train", "dataset", "path"):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part


def _held() -> dict[str, set[int]]:
    """Real path → ids of the teams that hold it; a dataset may lie in a folder of weights."""
    held: dict[str, set[int]] = {}
    for kind in (Dataset, Weights):
        for path, team_id in kind.objects.values_list("path", "team_id").iterator():
            if (real := _real(path)) is not None:
                held.setdefault(real, set()).add(team_id)
    for folder, teams in _uploads():
        held.setdefault(folder, set()).update(teams)
    return held


def _uploads() -> Iterator[tuple[str, set[int]]]:
    """Folders of the teams' uploads, and that of the unfinished ones, which nobody may name."""
    top = settings.UPLOADS_DIR
    for folder in top.iterdir() if top.is_dir() else ():
        yield os.path.realpath(folder), {int(folder.name)} if folder.name.isdecimal() else set()


def _real(path: str) -> str | None:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # the check says what is wrong with it
        return None
