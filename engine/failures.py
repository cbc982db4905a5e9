"""`Failure`: a stage cannot go on, for a reason that has a code, a text and a remedy."""

from __future__ import annotations

from typing import Any

from engine.problems import Fault, Problem, Value


class Failure(Exception):
    """Raised inside a stage's process; `engine.stage_process` turns it into a `problem` event."""

    def __init__(self, code: str, field: str = "", fault: Fault = "user", /, **parameters: Value) -> None:
        self.problem = Problem(code=code, field=field, fault=fault, parameters=parameters)
        details = ", ".join(f"{key}={value}" for key, value in parameters.items())
        super().__init__(f"{code}: {details}" if details else code)

    def __reduce__(self) -> tuple[Any, ...]:
        """Goes from a process to its parent as it is."""
        problem = self.problem
        return _again, (problem.code, problem.field, problem.fault, dict(problem.parameters))


def _again(code: str, field: str, fault: Fault, parameters: dict[str, Value]) -> Failure:
    return Failure(code, field, fault, **parameters)


class Stopped(Exception):
    """The stage was asked to stop (SIGTERM) and has saved what there was to save."""
