"""Takes a dataset out of the list. What finished runs were trained with stays known, and stays on the disk."""

from __future__ import annotations

from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from jobs.datasets.finishing import team_folder
from jobs.models import AuditEvent, Dataset, Run


def remove(dataset: Dataset, user: User) -> bool:
    """Take it out; True when its uploaded file was deleted, too.

    A registered path is never touched. An upload is deleted unless a run keeps a version of it; then the row stays as
    well, out of sight, so that the run's page can still say what it was trained with.
    """
    with transaction.atomic():
        found = Dataset.objects.select_for_update().get(pk=dataset.pk)
        kept = Run.objects.filter(dataset_version__dataset=found).exists()
        uploaded = is_upload(found)
        detail = {"dataset": found.pk, "path": found.path, "team": found.team_id, "deleted": uploaded and not kept}
        AuditEvent.objects.create(user=user, action="dataset.remove", detail=detail)
        if kept:
            found.removed = timezone.now()
            found.save(update_fields=["removed"])
            return False
        found.delete()
    if uploaded:
        Path(found.path).unlink(missing_ok=True)
    return uploaded


def is_upload(dataset: Dataset) -> bool:
    """Is it a file that was uploaded through the site, directly in its team's own folder?"""
    path, folder = Path(dataset.path), team_folder(dataset.team)
    return path.parent == folder and path.is_file() and not path.is_symlink()
