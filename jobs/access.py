"""Who may see a run: the people of the job's team."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User

from jobs.models import Job, Run


def visible_run(user: User | AnonymousUser, run_id: int) -> Run | None:
    """The run with its job, or None when there is none or it is another team's."""
    if not user.is_authenticated:
        return None
    jobs = Job.objects.visible_to(user)
    return Run.objects.select_related("job", "job__team", "job__owner", "node").filter(pk=run_id, job__in=jobs).first()
