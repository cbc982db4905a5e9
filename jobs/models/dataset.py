"""A dataset over time: its versions, the reports about them, and uploads that may become one."""

from __future__ import annotations

import uuid
from pathlib import Path

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from jobs.models.asset import Dataset
from jobs.models.team import Team


class DatasetVersion(models.Model):
    """What lay at a dataset's path when somebody looked. A new one is made when it has changed."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField(_("version"))
    stamp = models.CharField(max_length=64)
    """Hash of names, sizes and times of change: says without reading whether anything may have changed."""
    digest = models.CharField(_("content"), max_length=64, blank=True)
    """Hash of the contents; SHA-256 of the file where it is one. Empty while it has not been read."""
    size = models.BigIntegerField(_("size in bytes"))
    files = models.PositiveIntegerField(_("files"))
    changed = models.DateTimeField(_("last change"), null=True)
    created = models.DateTimeField(_("noticed"), auto_now_add=True)

    class Meta:
        verbose_name = _("version of a dataset")
        verbose_name_plural = _("versions of datasets")
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=("dataset", "number"), name="one_version_a_number")]

    def __str__(self) -> str:
        return f"{self.dataset} v{self.number}"


class InspectionState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class Inspection(models.Model):
    """A report about a version, with one tokenizer and one set of options. Its folder holds the report itself."""

    version = models.ForeignKey(DatasetVersion, models.CASCADE, related_name="inspections")
    key = models.CharField(max_length=64)
    """Hash of content, tokenizer and settings: the same is never inspected twice."""
    asked = models.JSONField(_("settings"), default=dict)
    state = models.CharField(_("state"), max_length=10, choices=InspectionState, default=InspectionState.WAITING)
    attempt = models.PositiveIntegerField(default=1)
    summary = models.JSONField(_("summary"), default=dict)
    """The few numbers of the report that lists and forms show."""
    reason = models.TextField(_("reason"), blank=True)
    """Why there is no report."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, verbose_name=_("asked by"))
    created = models.DateTimeField(_("asked"), default=timezone.now)
    sent_at = models.DateTimeField(null=True)
    """When a worker was last told to begin."""
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta:
        verbose_name = _("report about a dataset")
        verbose_name_plural = _("reports about datasets")
        ordering = ("-created", "-id")
        constraints = [models.UniqueConstraint(fields=("version", "key"), name="one_inspection_a_key")]
        indexes = [models.Index(fields=("state", "id"), name="inspection_state")]

    def __str__(self) -> str:
        return f"{self.version}: {self.state}"

    @property
    def ended(self) -> bool:
        return self.state in (InspectionState.DONE, InspectionState.FAILED)

    @property
    def folder(self) -> Path:
        return Path(settings.DATA_DIR) / "reports" / str(self.pk) / str(self.attempt)


class UploadState(models.TextChoices):
    OPEN = "open", _("unfinished")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


class Upload(models.Model):
    """A file on its way. How much of it has come is the size of its partial file, and nothing else."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    name = models.CharField(_("name"), max_length=200)
    """As it will be called: made harmless."""
    size = models.BigIntegerField(_("size in bytes"))
    modified = models.BigIntegerField(default=0)
    """The browser's time of the file's last change in ms: a file that has changed is another one."""
    state = models.CharField(_("state"), max_length=10, choices=UploadState, default=UploadState.OPEN)
    sha256 = models.CharField(max_length=64, blank=True)
    """Proven on this disk, before `path` is made."""
    path = models.CharField(_("path"), max_length=1000, blank=True)
    dataset = models.ForeignKey(Dataset, models.SET_NULL, null=True)
    created = models.DateTimeField(_("begun"), default=timezone.now)
    touched = models.DateTimeField(_("last piece"), default=timezone.now)

    class Meta:
        verbose_name = _("upload")
        verbose_name_plural = _("uploads")
        ordering = ("-created",)
        indexes = [models.Index(fields=("user", "state"), name="upload_of_user")]

    def __str__(self) -> str:
        return self.name
