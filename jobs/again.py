"""Running a job again: the same request, judged anew."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from jobs.attempts import add_run
from jobs.datasets.versions import version_for_job
from jobs.models import AuditEvent, Job, Run
from jobs.submit import Refused, preview


class StillRunning(Exception):
    """The job has an attempt that has not ended."""


def run_again(job: Job, user: User | None) -> Run:
    """Queue a new attempt at a job whose last one has ended.

    Files, nodes and tables may have changed meanwhile: raises Refused with every problem, as at the first
    time. Raises StillRunning while an attempt has not ended.
    """
    verdict, decided = preview(job.spec, team=job.team)
    if decided is None:
        raise Refused(verdict)
    version = version_for_job(job.job_spec.train.dataset.path, job.team)
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=job.pk)
        last = job.last_run
        if last is not None and not last.ended:
            raise StillRunning(str(last))
        run = add_run(job, version)
        AuditEvent.objects.create(user=user, action="job.again", job=job, detail={"run": run.pk})
    return run
