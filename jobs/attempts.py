"""Attempts at a job: each is a new Run."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from jobs.messages import wake_dispatcher
from jobs.models import AuditEvent, Job, Run, StageRecord


class StillRunning(Exception):
    """The job has an attempt that has not ended."""


def run_again(job: Job, user: User | None) -> Run:
    """Queue a new attempt at a job whose last one has ended. Raises StillRunning."""
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=job.pk)
        last = job.last_run
        if last is not None and not last.ended:
            raise StillRunning(str(last))
        run = add_run(job)
        AuditEvent.objects.create(user=user, action="job.again", job=job, detail={"run": run.pk})
    return run


def add_run(job: Job) -> Run:
    """A new queued attempt with a record for each stage. Must be called in a transaction."""
    number = (job.runs.aggregate(last=Max("number"))["last"] or 0) + 1
    run = Run.objects.create(job=job, number=number)
    StageRecord.objects.bulk_create(fresh_stages(run))
    transaction.on_commit(wake_dispatcher)
    transaction.on_commit(run.announce)
    return run


def fresh_stages(run: Run) -> list[StageRecord]:
    """The records of a run whose stages have not started."""
    stages = run.job.job_plan.stages
    return [StageRecord(run=run, name=stage.name, position=place) for place, stage in enumerate(stages)]
