"""The table rows behind a verdict, kept with the job: a later edit of the tables changes no old judgement."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from engine.catalog import Catalog
from engine.planner.ask import Ask
from engine.planner.rules.devices import quoted_beside
from engine.spec import JobSpec

Rows = dict[str, Any]


def judged_rows(spec: JobSpec, catalog: Catalog) -> Rows:
    """Table → the row, or null where there is none; of some tables, several.

    `beside`: printed cells of which the verdict spoke, besides that of the request (`min_devices`).
    `own_runs`: tokens per second and device of the team's runs.
    """
    ask = Ask(spec, catalog)
    found = {
        "min_devices": ask.cell or ask.estimate,
        "hardware": ask.hardware,
        "model": ask.model,
        "architecture": ask.shape,
        "parallel_config": catalog.parallel_configs.get((spec.model, spec.train.seq_length)),
    }
    alike = (spec.model, spec.train.strategy, spec.train.seq_length)
    accumulations = [asdict(row) for row in catalog.accumulations if (row.model, row.strategy, row.seq_length) == alike]
    uses = {"parallel_config": spec.framework == "mindspeed-llm", "accumulation": spec.framework == "llama-factory"}
    rows: Rows = {name: None if row is None else asdict(row) for name, row in found.items() if uses.get(name, True)}
    if uses["accumulation"]:
        rows["accumulation"] = accumulations
    beside = [asdict(row) for row in quoted_beside(ask)]
    own = [rate for rates in catalog.own_runs.values() for rate in rates]
    return {**rows, "beside": beside, "own_runs": own}
