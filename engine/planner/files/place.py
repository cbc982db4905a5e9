"""Where a path of a request really leads, and whether it may."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.problems import Problem


class Refused(Exception):
    """The path cannot be used; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def resolved(path: str, field: str, roots: Sequence[Path] | None) -> Path:
    """The real path, through every symbolic link. Raises Refused for one outside of the roots.

    Nothing is said about what is outside, not even whether it exists.
    """
    try:
        real = Path(path).resolve()
        allowed = None if roots is None else [root.resolve() for root in roots]
    except (OSError, ValueError, RuntimeError):  # a name too long, a null character, a loop of links
        raise Refused(Problem(code="path.unusable", field=field, parameters={"path": path[:200]})) from None
    if allowed is not None and not any(real.is_relative_to(root) for root in allowed):
        parameters = {"path": path[:200], "roots": ", ".join(map(str, roots or ()))}
        raise Refused(Problem(code="path.outside", field=field, parameters=parameters))
    return real
