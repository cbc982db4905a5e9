"""Takes away what nobody will come back for: abandoned uploads, and folders of reports without a row."""

from __future__ import annotations

import logging
import shutil
import time
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from jobs.datasets.uploads import cancel, incoming
from jobs.models import Inspection, Upload, UploadState

log = logging.getLogger(__name__)
ABANDONED_AFTER = timedelta(days=3)
FORGOTTEN_AFTER = timedelta(days=30)
"""Rows of uploads that have ended; they only tell a window that comes late what became of its file."""
STRAY_AFTER_SECONDS = 24 * 3600.0
"""A file or folder without a row may belong to a row that is just being written."""


def clean() -> None:
    """May be done at any time, and by two at once."""
    now = timezone.now()
    for upload in Upload.objects.filter(state=UploadState.OPEN, touched__lt=now - ABANDONED_AFTER):
        log.info("upload %s is abandoned", upload.pk)
        cancel(upload)
    Upload.objects.exclude(state=UploadState.OPEN).filter(touched__lt=now - FORGOTTEN_AFTER).delete()
    _clean_partials()
    _clean_reports()


def _clean_partials() -> None:
    wanted = {pk.hex for pk in Upload.objects.filter(state=UploadState.OPEN).values_list("pk", flat=True)}
    for file in incoming().iterdir():
        if not file.name.startswith(".") and file.name not in wanted and _is_old(file):
            file.unlink(missing_ok=True)


def _clean_reports() -> None:
    folder = Path(settings.DATA_DIR) / "reports"
    wanted = {str(pk): attempt for pk, attempt in Inspection.objects.values_list("pk", "attempt")}
    for report in folder.iterdir() if folder.is_dir() else ():
        for attempt in report.iterdir() if report.is_dir() else ():
            if attempt.name != str(wanted.get(report.name)) and _is_old(attempt):
                shutil.rmtree(attempt, ignore_errors=True)
        if report.name not in wanted and _is_old(report):
            shutil.rmtree(report, ignore_errors=True)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > STRAY_AFTER_SECONDS
    except FileNotFoundError:
        return False
