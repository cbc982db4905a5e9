"""How fast a team's finished runs were: from this the time of its next one is estimated."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from engine.catalog import Catalog, RunKey
from engine.events import TOKENS_PER_SECOND
from engine.spec import JobSpec
from jobs.models import Run, RunSpeed, Team
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


def with_own_runs(catalog: Catalog, spec: JobSpec | Mapping[str, Any], team: Team | None) -> Catalog:
    """The catalog with the speeds of the team's runs that were like this request: one look into an index.

    A request of a wrong shape has none, and gets no plan anyway.
    """
    key = key_of(spec) if isinstance(spec, JobSpec) else _key_of_raw(spec)
    if team is None or key is None:
        return catalog
    model, framework, strategy, seq_length, hardware = key
    alike = RunSpeed.objects.filter(
        team=team, model=model, framework=framework, strategy=strategy, seq_length=seq_length, hardware=hardware
    )
    speeds = tuple(alike.values_list("tokens_per_second_per_device", flat=True)[:MOST_RUNS])
    return replace(catalog, own_runs={key: speeds}) if speeds else catalog


def _key_of_raw(data: Mapping[str, Any]) -> RunKey | None:
    try:
        return key_of(JobSpec.model_validate(data))
    except ValueError:
        return None
