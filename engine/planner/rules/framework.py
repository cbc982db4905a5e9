"""Rules about what a framework takes and where it runs."""

from __future__ import annotations

from collections.abc import Iterator

from engine.planner.ask import Ask
from engine.problems import Problem


def not_for_model(ask: Ask) -> Iterator[Problem]:
    """A "-" in the minimum-device table says the same, and `devices.unsupported` says it then."""
    model, cell = ask.model, ask.cell
    if model is None or ask.spec.framework in model.frameworks or (cell is not None and cell.devices is None):
        return
    yield Problem(
        code="framework.not_for_model",
        field="framework",
        parameters={
            "framework": ask.spec.framework,
            "model": model.name,
            "offered": ", ".join(model.frameworks) or "-",
        },
        nearest={"framework": model.frameworks[0]} if model.frameworks else {},
    )


def not_on_hardware(ask: Ask) -> Iterator[Problem]:
    allowed = ask.framework.hardware
    if ask.hardware is None or ask.spec.hardware in allowed:
        return
    code = "framework.native_cpu_only" if ask.spec.framework == "native" else "framework.not_on_hardware"
    yield Problem(
        code=code,
        field="hardware",
        fault="software" if ask.spec.framework == "native" else "user",
        parameters={"framework": ask.spec.framework, "hardware": ask.spec.hardware, "allowed": ", ".join(allowed)},
        nearest={"hardware": allowed[0]},
    )
