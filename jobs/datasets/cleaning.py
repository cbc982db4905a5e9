"""Takes away what nobody will come back for: abandoned uploads, and folders of reports without a row."""

from __future__ import annotations

import logging
import shutil
import time
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from jobs.datasets.commands import PLACES
from jobs.datasets.uploads import cancel, incoming
from jobs.models import Inspection, Upload, UploadState

log = logging.getLogger(__name__)
ABANDONED_AFTER = timedelta(days=3)
FORGOTTEN_AFTER = timedelta(days=30)
"""Rows of uploads that have ended; they only tell a window that comes late what became of its file."""
STRAY_AFTER_SECONDS = 24 * 3600.0
"""A file or folder without a row may belong to a row that is just being written."""

UNUSED_AFTER_SECONDS = 30 * 24 * 3600.0


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
    for file in incoming().iterdir() if incoming().is_dir() else ():
        if not file.name.startswith(".") and file.name not in wanted and _age(file) > STRAY_AFTER_SECONDS:
            file.unlink(missing_ok=True)


def _clean_reports() -> None:
    """Attempts that no row names any more, and indexes of rows that nobody has used for long."""
    folder = Path(settings.DATA_DIR) / "reports"
    wanted = {str(pk): str(attempt) for pk, attempt in Inspection.objects.values_list("pk", "attempt")}
    for report in folder.iterdir() if folder.is_dir() else ():
        if report.name.isdecimal():
            _clean_report(report, wanted.get(report.name))
    places = folder / PLACES
    for index in places.iterdir() if places.is_dir() else ():
        if _age(index) > UNUSED_AFTER_SECONDS:
            index.unlink(missing_ok=True)


def _clean_report(report: Path, attempt: str | None) -> None:
    if attempt is None and _age(report) > STRAY_AFTER_SECONDS:
        shutil.rmtree(report, ignore_errors=True)
        return
    for one in report.iterdir():
        if one.name != attempt and _age(one) > STRAY_AFTER_SECONDS:
            shutil.rmtree(one, ignore_errors=True)


def _age(path: Path) -> float:
    """Seconds since the last change; none for what is gone."""
    try:
        return time.time() - path.lstat().st_mtime
    except FileNotFoundError:
        return 0.0
