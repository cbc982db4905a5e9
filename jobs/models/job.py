"""A Job is what was asked; a Run is one attempt at it."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from engine.plan import Plan
from engine.run_folder import RunFolder
from engine.spec import JobSpec
from jobs.models.dataset import DatasetVersion
from jobs.models.node import Node
from jobs.models.team import Team
from jobs.states import ACTIVE, COLOURS, ENDED, TRANSITIONS, RunState
from jobs.waiting import waiting_text


class JobQuerySet(models.QuerySet["Job"]):
    def visible_to(self, user: User | AnonymousUser) -> JobQuerySet:
        return self.filter(team__in=Team.objects.of(user))


class Job(models.Model):
    """What was asked, what was decided, and the table rows that it was judged by."""

    team = models.ForeignKey(Team, models.PROTECT, related_name="jobs", verbose_name=_("team"))
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="jobs", verbose_name=_("owner"))
    name = models.CharField(_("name"), max_length=120)
    model = models.CharField(_("model"), max_length=80)
    spec = models.JSONField(_("spec"))
    plan = models.JSONField(_("plan"))
    verdict = models.JSONField(_("verdict"), default=dict)
    """The check's answer at submission, with the table rows behind it: an old job keeps its judgement."""
    created = models.DateTimeField(_("created"), auto_now_add=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        ordering = ("-created", "-id")
        indexes = [
            models.Index(fields=("-created", "-id"), name="job_newest"),
            models.Index(fields=("team", "-created", "-id"), name="job_team_newest"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def job_spec(self) -> JobSpec:
        return JobSpec.model_validate(self.spec)

    @property
    def job_plan(self) -> Plan:
        return Plan.model_validate(self.plan)

    @property
    def last_run(self) -> Run | None:
        return self.runs.order_by("-number").first()


class Run(models.Model):
    """One attempt. `state` is written by `advance` alone."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="runs", verbose_name=_("job"))
    number = models.PositiveIntegerField(_("attempt"))
    state = models.CharField(_("state"), max_length=12, choices=RunState, default=RunState.QUEUED)
    token = models.UUIDField(default=uuid.uuid4, editable=False)
    """Fencing token: renewed at each assignment; a start with an old one does nothing."""
    node = models.ForeignKey(Node, models.PROTECT, null=True, related_name="runs", verbose_name=_("node"))
    waiting_for = models.CharField(_("waits for"), max_length=300, blank=True)
    """Why a queued run is not running yet, as a code of `jobs.waiting`; empty if it has not been looked at."""
    stage = models.CharField(_("stage"), max_length=40, blank=True)
    progress = models.JSONField(_("progress"), default=dict)
    """Last progress event's data, with its stage."""
    metrics = models.JSONField(_("metrics"), default=dict)
    """Last metric event's data."""
    problems = models.JSONField(_("problems"), default=list)
    recorded_offset = models.BigIntegerField(default=0)
    """How far into events.jsonl these rows have been derived, in bytes."""
    returncode = models.IntegerField(_("return code"), null=True)
    start_sent_at = models.DateTimeField(null=True)
    """When the node was last told to start or adopt this run."""
    start_attempts = models.PositiveIntegerField(default=0)
    """How often it was told so since the run was last known to be alive."""
    dataset_version = models.ForeignKey(
        DatasetVersion, models.SET_NULL, null=True, related_name="runs", verbose_name=_("version of the dataset")
    )
    """What was registered for the job's path when this attempt was queued; null: nothing was."""
    created = models.DateTimeField(_("created"), auto_now_add=True)
    assigned_at = models.DateTimeField(_("assigned"), null=True)
    started_at = models.DateTimeField(_("started"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ("-id",)
        constraints = [models.UniqueConstraint(fields=("job", "number"), name="one_run_a_number")]
        indexes = [models.Index(fields=("state", "id"), name="run_state")]

    def __str__(self) -> str:
        return f"{self.job} #{self.number}"

    @property
    def folder(self) -> RunFolder:
        return RunFolder(Path(settings.RUNS_DIR) / str(self.pk))

    @property
    def colour(self) -> str:
        return COLOURS[self.state]

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def waiting_text(self) -> str:
        return waiting_text(self.waiting_for)

    def advance(
        self, old: RunState, new: RunState, reason: str = "", *, if_token: uuid.UUID | None = None, **fields: Any
    ) -> bool:
        """Change the state from `old` to `new` if it still is `old`; say whether we were the one.

        With `if_token` the fencing token must still be that one, too. `fields` are written in the same
        UPDATE. Devices are given back in the same transaction when the new state holds none.
        Raises ValueError for a step that is not drawn in `jobs.states`.
        """
        if new not in TRANSITIONS[old]:
            raise ValueError(f"a run cannot go from {old} to {new}")
        if new in ENDED:
            fields.setdefault("finished_at", timezone.now())
        unchanged = Run.objects.filter(pk=self.pk, state=old)
        if if_token is not None:
            unchanged = unchanged.filter(token=if_token)
        with transaction.atomic():
            won = unchanged.update(state=new, **fields) == 1
            if won:
                if new not in ACTIVE:
                    self.leases.all().delete()
                RunTransition.objects.create(run=self, old=old, new=new, reason=reason)
                transaction.on_commit(self.announce)
        if won:
            self.state = new
            for name, value in fields.items():
                setattr(self, name, value)
        return won

    def announce(self) -> None:
        from jobs.announce import run_changed

        run_changed(self.pk)


class RunTransition(models.Model):
    """History of a run's states."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="transitions")
    time = models.DateTimeField(auto_now_add=True)
    old = models.CharField(max_length=12, choices=RunState)
    new = models.CharField(max_length=12, choices=RunState)
    reason = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.old} → {self.new}"


class StageRecord(models.Model):
    """A stage of a run, derived from its events."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="stages")
    name = models.CharField(_("stage"), max_length=40)
    position = models.PositiveIntegerField()
    state = models.CharField(_("state"), max_length=12, default="waiting")
    """waiting, running, succeeded, failed, stopped, skipped."""
    argv = models.JSONField(default=list)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    returncode = models.IntegerField(null=True)

    class Meta:
        ordering = ("position",)
        constraints = [models.UniqueConstraint(fields=("run", "name"), name="one_record_a_stage")]

    def __str__(self) -> str:
        return self.name
