"""What this site can run, beyond the resource tables: nodes, their hardware, devices and frameworks, and its disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from engine.catalog import Catalog
from engine.planner.ask import Ask
from engine.planner.memory.constants import GIB
from engine.planner.nearest import changed
from engine.planner.rules.memory import native_estimate
from engine.planner.saving import SAVE_TIMEOUT_MINUTES, nodes_of, saved, seconds_to_write
from engine.planner.shape import look
from engine.problems import Problem, Severity, Value
from engine.spec import JobSpec
from jobs.models import Node
from jobs.nodes import has, installs, known

ABOUT_NODES = {"node.none", "hardware.not_here", "devices.not_here", "framework.nowhere", "framework.installing"}
"""Codes of findings about which nodes there are."""
ROOM = 1.2
"""Below this many times what the checkpoints take, a disk is nearly full."""
SURELY = 2.0
"""An estimate of so many times the memory there is cannot be right by mistake."""
TAKEN_BY = (
    "model",
    "framework",
    "hardware",
    "devices",
    "train.strategy",
    "train.lora",
    "train.seq_length",
    "train.micro_batch_size",
    "train.global_batch_size",
)
"""Fields from which the memory of a process follows."""
SAVED_BY = ("model", "framework", "train.strategy", "train.lora", "train.train_iters", "train.save_interval")
"""Fields from which the size and the number of the checkpoints follow."""


def site_problems(data: JobSpec | Mapping[str, Any], catalog: Catalog) -> tuple[Problem, ...]:
    """Findings about a request, however incomplete.

    A site without any node gets a warning and not an error, since the first one may be about to report.
    """
    asked = data.model_dump() if isinstance(data, JobSpec) else data
    disk = tuple(_about_disk(data, catalog))
    nodes = list(known())
    disk = (*disk, *_about_write_speed(nodes, data, catalog))
    if not nodes:
        return (_problem("node.none", "hardware", "warning"), *disk)
    return (
        *_about_nodes(nodes, asked.get("hardware"), asked.get("framework"), asked.get("devices")),
        *_about_memory(nodes, data, catalog),
        *disk,
    )


def _about_disk(data: JobSpec | Mapping[str, Any], catalog: Catalog) -> Iterator[Problem]:
    """Do the checkpoints that a run keeps fit beside what is on the disk of the runs already?"""
    shape = look(data)
    ask = Ask(shape.spec, catalog)
    if not all(shape.has(path) for path in SAVED_BY):
        return
    found, free = saved(ask), _free(settings.RUNS_DIR)
    if found is None or free is None or (needed := found.needed) * ROOM <= free:
        return
    enough = needed <= free
    yield _problem(
        "disk.little_room" if enough else "disk.too_small",
        "train.save_interval",
        "warning" if enough else "error",
        count=found.count,
        gib=round(found.size / GIB, 1),
        needed=round(needed / GIB, 1),
        free=round(free / GIB, 1),
    )


def _about_write_speed(nodes: Sequence[Node], data: JobSpec | Mapping[str, Any], catalog: Catalog) -> Iterator[Problem]:
    """Is a checkpoint written before those who wait for it give up, at the speed of the slowest machine?"""
    shape = look(data)
    ask = Ask(shape.spec, catalog)
    if not all(shape.has(path) for path in (*SAVED_BY, "hardware", "devices")) or ask.spec.devices == 1:
        return
    measured = [node for node in nodes if node.hardware == ask.spec.hardware and node.write_mb_per_second]
    slowest = min(measured, key=lambda node: node.write_mb_per_second or 0, default=None)
    if slowest is None or not slowest.write_mb_per_second or slowest.write_measured is None:
        return
    found, seconds = saved(ask), seconds_to_write(ask, slowest.write_mb_per_second)
    if found is not None and seconds is not None and seconds > 60 * SAVE_TIMEOUT_MINUTES:
        yield _problem(
            "disk.too_slow",
            "train.save_interval",
            "warning",
            nearest={"train.strategy": "lora"} if ask.spec.train.strategy == "full" else {},
            gib=round(found.size / nodes_of(ask) / GIB, 1),
            minutes=round(seconds / 60),
            limit=SAVE_TIMEOUT_MINUTES,
            speed=round(slowest.write_mb_per_second, 1),
            measured=slowest.write_measured.date().isoformat(),
        )


def _about_memory(nodes: Sequence[Node], data: JobSpec | Mapping[str, Any], catalog: Catalog) -> Iterator[Problem]:
    """Do the processes on a CPU fit into the largest machine? An estimate: only far beyond it is an error."""
    shape = look(data)
    ask = Ask(shape.spec, catalog)
    there = max((node.memory_gib or 0 for node in nodes if node.hardware == "cpu"), default=0)
    if shape.spec.hardware != "cpu" or ask.spec.framework != "native" or not there:
        return
    if not all(shape.has(path) for path in TAKEN_BY) or (needed := _needed(ask)) is None or needed <= there:
        return
    beyond = needed > SURELY * there
    yield _problem(
        "memory.too_small" if beyond else "memory.little_room",
        "train.micro_batch_size",
        "error" if beyond else "warning",
        nearest=_smaller_micro_batch(ask, there),
        needed=round(needed, 1),
        there=round(there, 1),
        devices=ask.spec.devices,
    )


def _needed(ask: Ask) -> float | None:
    """GiB of all processes together, by the memory model."""
    found = native_estimate(ask, ask.spec.devices)
    each = None if found is None else found.parameters["needed"]
    return each * ask.spec.devices if isinstance(each, float) else None


def _smaller_micro_batch(ask: Ask, there: float) -> dict[str, Value]:
    """The largest half, quarter, … of the micro-batch that fits; nothing if none does."""
    found = native_estimate(ask, ask.spec.devices)
    micro = None if found is None else found.parameters["micro_batch_size"]
    while isinstance(micro, int) and micro > 1:
        micro //= 2
        smaller = changed(ask.spec, {"train.micro_batch_size": micro})
        if smaller is not None and (_needed(Ask(smaller, ask.catalog)) or 0) <= there:
            return {"train.micro_batch_size": micro}
    return {}


def _free(folder: Path) -> int | None:
    """Bytes that we may still write there; None if nobody knows."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _about_nodes(nodes: Sequence[Node], hardware: Any, framework: Any, devices: Any) -> Iterator[Problem]:
    framework_known = isinstance(framework, str) and bool(framework)
    if framework_known:
        yield from _about_framework(nodes, framework)
    if not isinstance(hardware, str) or not hardware:
        return
    fitting = [node for node in nodes if node.hardware == hardware]
    if not fitting:
        there = sorted({node.hardware for node in nodes})
        yield _problem(
            "hardware.not_here", "hardware", nearest={"hardware": there[0]}, hardware=hardware, there=", ".join(there)
        )
        return
    able = [node for node in fitting if not framework_known or framework in node.frameworks]
    if isinstance(devices, int) and able:
        yield from _about_devices(max(node.devices for node in able), hardware, devices)


def _about_framework(nodes: Sequence[Node], framework: str) -> Iterator[Problem]:
    if any(has(node, framework) for node in nodes):
        return
    if any(installs(node, framework) for node in nodes):
        yield _problem("framework.installing", "framework", "warning", framework=framework)
        return
    there = sorted({name for node in nodes for name in node.frameworks})
    nearest: dict[str, Value] = {"framework": there[0]} if there else {}
    yield _problem("framework.nowhere", "framework", nearest=nearest, framework=framework, there=", ".join(there))


def _about_devices(largest: int, hardware: str, devices: int) -> Iterator[Problem]:
    """A run stays on one node, so the largest node is the limit."""
    if devices > largest:
        yield _problem(
            "devices.not_here",
            "devices",
            nearest={"devices": largest},
            devices=devices,
            largest=largest,
            hardware=hardware,
        )


def _problem(
    code: str, field: str, severity: Severity = "error", nearest: dict[str, Value] | None = None, **parameters: Value
) -> Problem:
    return Problem(
        code=code, field=field, severity=severity, fault="site", parameters=parameters, nearest=nearest or {}
    )
