"""Data that other teams have registered for themselves: a request of this team may not name it.

What nobody has registered is common to all who may use the site's folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

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

    The nearest registration counts: whoever registers a folder does not get at what others hold in it.
    """
    wanted = _real(path)
    if wanted is None:
        return False
    found = [(real, holder) for real, holder in _registered() if _covers(real, wanted)]
    nearest = max((real for real, _ in found), key=len, default="")
    holders = {holder for real, holder in found if real == nearest}
    return bool(holders) and (team is None or team.pk not in holders)


def _problems(model_path: Any, dataset_path: Any, team: Team | None) -> Iterator[Problem]:
    if isinstance(model_path, str) and is_foreign(model_path, team):
        yield Problem(code="weights.other_team", field="model_path", parameters={"path": model_path[:200]})
    if isinstance(dataset_path, str) and is_foreign(dataset_path, team):
        yield Problem(code="dataset.other_team", field="train.dataset.path", parameters={"path": dataset_path[:200]})


def _path_of_dataset(asked: Mapping[str, Any]) -> Any:
    part: Any = asked
    for name in ("train", "dataset", "path"):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part


def _registered() -> Iterator[tuple[str, int]]:
    """(real path, team's id) of everything that is registered: a dataset may lie in a folder of weights."""
    for kind in (Dataset, Weights):
        for path, team_id in kind.objects.values_list("path", "team_id").iterator():
            if (real := _real(path)) is not None:
                yield real, team_id


def _real(path: str) -> str | None:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # the check says what is wrong with it
        return None


def _covers(registered: str, path: str) -> bool:
    return path == registered or path.startswith(registered.rstrip("/") + "/")
