"""How fast a team's finished runs were: from this the time of its next one is estimated."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from django.db.models import Case, Value, When

from engine.catalog import Catalog, CpuSpeed, RunKey
from engine.events import TOKENS_PER_SECOND
from engine.spec import JobSpec
from jobs.models import Run, RunSpeed, Team
from jobs.nodes import known
from jobs.series import extend, read

log = logging.getLogger(__name__)
MOST_RUNS = 50
"""The newest count; a team that trains the same again and again has no use for more."""


def note_speed(run: Run) -> None:
    """Keep the median speed of a finished run; nothing where it reported none."""
    try:
        speed = _median(run)
    except OSError as error:
        log.warning("run %s: its speed is not known: %s", run.pk, error)
        return
    if speed is None:
        return
    spec = run.job.job_spec
    key = dict(zip(("model", "framework", "strategy", "seq_length", "hardware"), key_of(spec), strict=True))
    values = {**key, "team": run.job.team, "tokens_per_second_per_device": speed}
    RunSpeed.objects.update_or_create(run=run, defaults=values)


def _median(run: Run) -> float | None:
    counts = extend(run.folder).counts
    _, values = read(run.folder, TOKENS_PER_SECOND, counts.get(TOKENS_PER_SECOND, 0))
    usable = values[np.isfinite(values) & (values > 0)]
    return float(np.median(usable)) if len(usable) else None


def key_of(spec: JobSpec) -> RunKey:
    return (spec.model, spec.framework, spec.train.strategy, spec.train.seq_length, spec.hardware)


def informed(catalog: Catalog, spec: JobSpec | Mapping[str, Any], team: Team | None) -> Catalog:
    """The catalog with what is known of the speed of such a request: the team's runs, and this site's machines."""
    return with_machines(with_own_runs(catalog, spec, team), spec)


def with_own_runs(catalog: Catalog, spec: JobSpec | Mapping[str, Any], team: Team | None) -> Catalog:
    """The catalog with the speeds of the team's runs that were like this request, by their length: one look into an
    index.

    Where there are runs of the very length the others are left out. A request of a wrong shape has none, and gets no
    plan anyway.
    """
    key = key_of(spec) if isinstance(spec, JobSpec) else _key_of_raw(spec)
    if team is None or key is None:
        return catalog
    model, framework, strategy, seq_length, hardware = key
    alike = RunSpeed.objects.filter(team=team, model=model, framework=framework, strategy=strategy, hardware=hardware)
    same = Case(When(seq_length=seq_length, then=Value(0)), default=Value(1))
    newest = alike.order_by(same, "-run_id").values_list("seq_length", "tokens_per_second_per_device")[:MOST_RUNS]
    speeds: dict[RunKey, tuple[float, ...]] = {}
    for length, rate in newest:
        place = (model, framework, strategy, length, hardware)
        speeds[place] = (*speeds.get(place, ()), rate)
    return replace(catalog, own_runs={key: speeds[key]} if key in speeds else speeds) if speeds else catalog


def with_machines(catalog: Catalog, spec: JobSpec | Mapping[str, Any]) -> Catalog:
    """The catalog with the CPUs of this site, where the request is for one of them."""
    asked = spec if isinstance(spec, JobSpec) else None
    framework, hardware = (asked.framework, asked.hardware) if asked else _named(spec)
    if (framework, hardware) != ("native", "cpu"):
        return catalog
    cpus = known().filter(hardware="cpu").values_list("devices", "gflops")
    return replace(catalog, cpus=tuple(CpuSpeed(cores, gflops) for cores, gflops in cpus))


def _named(data: Any) -> tuple[Any, Any]:
    return data.get("framework"), data.get("hardware")


def _key_of_raw(data: Mapping[str, Any]) -> RunKey | None:
    try:
        return key_of(JobSpec.model_validate(data))
    except ValueError:
        return None
