"""What the job page shows, put together from rows and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from pydantic import ValidationError

from engine.events import ELAPSED_MS, GRAD_NORM, LEARNING_RATE, LM_LOSS, TOKENS_PER_SECOND
from engine.plan import DeviceNeed
from engine.planner import Verdict
from engine.problems import Problem
from engine.readable.sentence import sentence
from jobs.datasets.versions import has_changed
from jobs.models import Dataset, DatasetVersion, Job, Run
from jobs.run_files import followed_files
from jobs.states import RunState
from jobs.story import samples, story
from jobs.waiting import waiting_text
from webui.plan_words import plan_words
from webui.prepared import prepared
from webui.reader import language

NUMBERS: tuple[tuple[str, Promise], ...] = (
    (LM_LOSS, _("Loss")),
    (TOKENS_PER_SECOND, _("Tokens per second and device")),
    (LEARNING_RATE, _("Learning rate")),
    (GRAD_NORM, _("Gradient norm")),
)
CHARTS: tuple[tuple[str, Promise], ...] = (
    (LM_LOSS, _("Loss")),
    (ELAPSED_MS, _("Time per iteration (ms)")),
)
MORE_CHARTS: tuple[tuple[str, Promise], ...] = (
    (TOKENS_PER_SECOND, _("Tokens per second and device")),
    (LEARNING_RATE, _("Learning rate")),
    (GRAD_NORM, _("Gradient norm")),
)
_PLANNED = {
    "train.micro_batch_size": "batch.micro_batch_size",
    "train.global_batch_size": "batch.global_batch_size",
    "train.train_iters": "batch.train_iters",
    "train.epochs": "batch.epochs",
    **{
        f"train.layout.{name}": f"layout.{name}"
        for name in (
            "tensor_parallel_size",
            "pipeline_parallel_size",
            "context_parallel_size",
            "expert_parallel_size",
            "zero_stage",
            "recompute",
        )
    },
}
"""What the planner decides when the person leaves it open: path in the spec → path in the plan."""


class Setting(NamedTuple):
    """A line of the configuration; `planned` says that the planner chose the value."""

    name: str
    value: Any
    planned: bool


class KeptRow(NamedTuple):
    """A table row that the job was judged by."""

    title: Promise
    estimate: bool
    facts: list[tuple[str, Any]]


_TABLES = {
    "min_devices": _("minimum devices"),
    "beside": _("minimum devices: cells beside it"),
    "hardware": _("hardware"),
    "model": _("model"),
    "architecture": _("Dimensions"),
    "parallel_config": _("parallel configuration"),
    "accumulation": _("gradient accumulation"),
}


def live_context(run: Run) -> dict[str, Any]:
    """What changes while a run is going on."""
    told = story(run)
    return {
        "job": run.job,
        "run": run,
        "story": told,
        "waiting": waiting_text(run.waiting_for) if run.state == RunState.QUEUED else "",
        "share": 100 if run.state == RunState.SUCCEEDED else _share(told.progress),
        "numbers": [(key, label, told.metrics.get(key)) for key, label in NUMBERS],
        "samples": samples(run),
        "prepared": prepared(run.folder),
        "exported": _exported(run),
    }


def page_context(run: Run) -> dict[str, Any]:
    """The whole page."""
    plan = run.job.plan
    return {
        **live_context(run),
        "attempts": list(run.job.runs.order_by("number")),
        "files": followed_files(run.folder.path),
        "charts": CHARTS,
        "more_charts": MORE_CHARTS,
        "settings": list(_settings(run.job.spec, plan)),
        "plan": plan_words(run.job.job_plan, run.job.job_spec.hardware),
        "judged": _judged(run.job),
        "rows": list(_rows(run.job.verdict)),
        "run_dir": run.folder.path,
        "data": _data(run),
    }


class DataUsed(NamedTuple):
    """The version of a registered dataset that a run was queued with."""

    dataset: Dataset
    version: DatasetVersion
    changed: bool
    """Does something else lie there now?"""


def _data(run: Run) -> DataUsed | None:
    version = DatasetVersion.objects.select_related("dataset__team").filter(runs=run.pk).first()
    if version is None or version.dataset.team_id != run.job.team_id:
        return None
    return DataUsed(version.dataset, version, has_changed(version, version.dataset))


def _judged(job: Job) -> str:
    """What the check said of the devices when the job was queued; empty for one of another release."""
    try:
        problems = [Problem.model_validate(one) for one in job.verdict.get("problems", ())]
        need = DeviceNeed.model_validate(job.verdict["devices"])
    except (ValidationError, KeyError):
        return ""
    return sentence(Verdict(spec=job.job_spec, problems=tuple(problems), devices=need), language())


def _rows(verdict: Mapping[str, Any]) -> Iterator[KeptRow]:
    """The rows as they were when the job was submitted; a job from before they were kept has none."""
    rows = verdict.get("rows", {})
    for name, title in _TABLES.items():
        found = rows.get(name)
        for row in found if isinstance(found, list) else [found] if found else []:
            facts = [(key, value) for key, value in _flat(row) if value not in (None, "", False)]
            yield KeptRow(title, bool(row.get("estimate")), facts)


def _share(progress: Mapping[str, Any]) -> int | None:
    done, total = progress.get("done"), progress.get("total")
    return min(100, int(100 * (done or 0) / total)) if total else None


def _exported(run: Run) -> list[str]:
    """Folders of the finished model that really are there."""
    parts = (("model", "config.json"), ("adapter", "adapter_config.json"))
    return [
        str(run.folder.output / folder) for folder, witness in parts if (run.folder.output / folder / witness).exists()
    ]


def _settings(spec: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[Setting]:
    lora = spec.get("train", {}).get("strategy") == "lora"
    for name, value in _flat(spec):
        if name in ("spec_version", "kind") or (name.startswith("train.lora.") and not lora):
            continue
        planned = value is None and name in _PLANNED
        yield Setting(name, _at(plan, _PLANNED[name]) if planned else value, planned)


def _flat(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{path}{key}.")
        else:
            yield path + key, inner


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
