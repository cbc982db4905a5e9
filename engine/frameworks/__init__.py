"""Frameworks. A folder here is a framework: what it takes, and how its stages are started.

`description(name)` is light and is all that the checks need. Each folder also has `flags.py` (our field → how it
reads it), `stages.py` and `output.py` (a log line → facts). `installed.py` finds a framework that is installed beside
us, `placeholders.py` names what a command may leave open, `rewriting.py` writes the dataset for one that reads files.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from engine.architecture import Architecture
from engine.plan import Batch, Layout, Stage
from engine.spec import JobSpec

FOLDERS = {"native": "native", "mindspeed-llm": "mindspeed_llm", "llama-factory": "llama_factory"}


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a framework takes."""

    name: str
    hardware: tuple[str, ...]
    """Hardware rows that it runs on in this release."""
    formats: tuple[str, ...]
    """Dataset formats that it trains on, itself or by our own rewriting."""
    table: bool
    """Does the minimum-device table speak of it?"""
    splits_models: bool
    """Can it cut one model over devices (tensor and pipeline parallel)?"""


def description(name: str) -> Description:
    """What the framework of this name takes. Raises KeyError for an unknown one."""
    module = import_module(f"engine.frameworks.{FOLDERS[name]}")
    found: Description = module.DESCRIPTION
    return found


def stages(
    spec: JobSpec,
    layout: Layout,
    batch: Batch,
    architecture: Architecture | None,
    *,
    nodes: int = 1,
    template: str = "",
) -> tuple[Stage, ...]:
    """The stages of a job, by its framework's `stages.py`.

    architecture: the dimensions of the model, where they are known; nodes: machines that the devices stand on;
    template: the name of the model's chat template in its row of the table.
    """
    module = import_module(f"engine.frameworks.{FOLDERS[spec.framework]}.stages")
    made: tuple[Stage, ...] = module.stages(spec, layout, batch, architecture, nodes=nodes, template=template)
    return made


class Reader:
    """Reads a log from its first line on. A framework whose lines are no facts alone has a `Reader` of its own."""

    def __init__(self, framework: str) -> None:
        self._output = import_module(f"engine.frameworks.{FOLDERS[framework]}.output")

    def metric(self, line: str) -> dict[str, float | int] | None:
        """The data of a metric event (`engine.events.Event`); None for any other line."""
        found: dict[str, float | int] | None = self._output.metric(line)
        return found

    def begins(self, _line: str) -> bool:
        """Does the first iteration begin with this line? Asked where the metrics have no time of their own."""
        return False


def reader(framework: str) -> Reader:
    """For the log of one stage."""
    module = import_module(f"engine.frameworks.{FOLDERS[framework]}.output")
    made: Reader = getattr(module, "Reader", Reader)(framework)
    return made
