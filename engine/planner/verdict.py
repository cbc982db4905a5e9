"""`Verdict`: the answer of a check."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from engine import problem_texts
from engine.plan import DeviceNeed
from engine.problems import Problem, Value
from engine.spec import JobSpec


class Question(BaseModel):
    """What the number of devices follows from."""

    model_config = ConfigDict(frozen=True)

    model: str
    strategy: str
    seq_length: int
    framework: str
    hardware: str
    devices: int

    @classmethod
    def of(cls, spec: JobSpec) -> Question:
        train = spec.train
        return cls(
            model=spec.model,
            strategy=train.strategy,
            seq_length=train.seq_length,
            framework=spec.framework,
            hardware=spec.hardware,
            devices=spec.devices,
        )


class Instead(BaseModel):
    """One change of the request, and the devices that it then needs."""

    model_config = ConfigDict(frozen=True)

    field: str
    value: Value
    devices: int


class Verdict(BaseModel):
    """Every finding about a request, and the nearest requests that fit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: JobSpec | None
    """Null when the shape is wrong."""
    problems: tuple[Problem, ...]
    devices: DeviceNeed
    nearest: tuple[dict[str, Value], ...] = ()
    """Spec differences by dotted path; each has been checked to fit."""
    question: Question | None = None
    """What the answer about the devices is about; null when one of these fields has a wrong shape."""
    instead: tuple[Instead, ...] = ()
    """Where devices are short: what needs fewer of them."""

    @property
    def fits(self) -> bool:
        return not any(problem.severity == "error" for problem in self.problems)

    def to_json(self, language: str = "en") -> dict[str, Any]:
        """What `check --json` prints and the API answers."""
        devices = self.devices.model_dump(mode="json")
        if self.devices.estimate is None:
            del devices["estimate"]  # only there where the table has one
        if self.devices.suspect:
            devices["suspect"] = problem_texts.suspect(self.devices.suspect, language)
        return {
            "fits": self.fits,
            "problems": [problem_json(problem, language) for problem in self.problems],
            "devices": devices,
            "nearest": list(self.nearest),
        }


def problem_json(problem: Problem, language: str) -> dict[str, Any]:
    return {
        "code": problem.code,
        "field": problem.field,
        "severity": problem.severity,
        "message": problem_texts.message(problem, language),
        "remedy": problem_texts.remedy(problem, language),
        "parameters": problem.parameters,
        "nearest": problem.nearest,
        "fault": problem.fault,
    }
