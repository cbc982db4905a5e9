"""Rows for tests, made the way the site makes them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections, transaction
from django.utils import timezone

from engine.plan import Plan
from engine.runner import prepare
from engine.spec import JobSpec
from jobs.attempts import add_run
from jobs.models import DeviceLease, Job, Membership, Node, Run, Team
from jobs.states import RunState
from tests.made_runs import SPEC, SUCCEED, plan_of, stage


def at_once(count: int, work: Callable[[], object]) -> None:
    """Do the same in several threads that begin together; the first error is raised."""
    begin = threading.Barrier(count)

    def together() -> None:
        try:
            begin.wait()
            work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(together) for _ in range(count)]:
            future.result()


def user_of(team: Team, name: str) -> User:
    user = User.objects.create_user(name)
    Membership.objects.create(team=team, user=user)
    return user


def node(name: str = "test-node", **values: Any) -> Node:
    """A node that has just reported."""
    usual = {"hardware": "cpu", "devices": 2, "frameworks": {"native": "2.13.0"}, "last_seen": timezone.now()}
    return Node.objects.create(name=name, **(usual | values))


def queued_run(plan: Plan | None = None, **changes: Any) -> Run:
    """A queued run of a job with a hand-made plan; `changes` are made to its spec."""
    spec = SPEC.model_copy(update=changes)
    plan = plan or plan_of(stage("train", SUCCEED, outputs=("output/model",)))
    with transaction.atomic():
        return add_run(_job(spec, plan))


def _job(spec: JobSpec, plan: Plan) -> Job:
    team, _ = Team.objects.get_or_create(name="alpha")
    owner, _ = User.objects.get_or_create(username="alice")
    return Job.objects.create(
        team=team,
        owner=owner,
        name=spec.name,
        model=spec.model,
        spec=spec.model_dump(mode="json"),
        plan=plan.model_dump(mode="json"),
    )


def run_in(state: RunState, plan: Plan | None = None, **fields: Any) -> Run:
    """A run that has come as far as `state` on the node of the settings, its folder prepared and its device leased."""
    run = queued_run(plan)
    home = Node.objects.filter(name=settings.NODE).first() or node(settings.NODE)
    token = UUID(int=run.pk)
    assert run.advance(
        RunState.QUEUED, RunState.ASSIGNED, node=home, token=token, start_sent_at=timezone.now(), start_attempts=1
    )
    DeviceLease.objects.create(node=home, device=home.leases.count(), run=run)
    for step in {RunState.RUNNING: [RunState.RUNNING], RunState.STOPPING: [RunState.RUNNING, state]}.get(state, []):
        assert run.advance(RunState(run.state), step)
    if state != RunState.ASSIGNED:
        prepare(run.folder, run.job.job_spec, run.job.job_plan)
    if fields:
        Run.objects.filter(pk=run.pk).update(**fields)
    run.refresh_from_db()
    return run
