"""Attempts at a job: each is a new Run."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max

from jobs.messages import wake_dispatcher
from jobs.models import DatasetVersion, Job, Run, StageRecord


def add_run(job: Job, version: DatasetVersion | None = None) -> Run:
    """A new queued attempt with a record for each stage. Must be called in a transaction.

    version: of the registered dataset that it will read.
    """
    number = (job.runs.aggregate(last=Max("number"))["last"] or 0) + 1
    run = Run.objects.create(job=job, number=number, dataset_version=version)
    StageRecord.objects.bulk_create(fresh_stages(run))
    transaction.on_commit(wake_dispatcher)
    transaction.on_commit(run.announce)
    return run


def fresh_stages(run: Run) -> list[StageRecord]:
    """The records of a run whose stages have not started."""
    stages = run.job.job_plan.stages
    return [StageRecord(run=run, name=stage.name, position=place) for place, stage in enumerate(stages)]
