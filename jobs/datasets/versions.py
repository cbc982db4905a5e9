"""What lies at a dataset's path now, and which version of the dataset that is."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from django.conf import settings
from django.db import transaction

from engine.failures import Failure
from engine.formats.contents import PIECE, digest_of
from engine.formats.files import DataFile, find
from jobs.models import Dataset, DatasetVersion, Run, Team

__all__ = ["PIECE", "current_version", "has_changed", "latest", "settle", "stamp", "stamp_of", "version_for_job"]

READ_AT_ONCE = 64 * 1024 * 1024
"""Bytes; the content of more than this is hashed where a report is made, not while a page waits."""


@dataclass(frozen=True)
class Stamp:
    """What can be said of a dataset without reading it."""

    value: str
    size: int
    """In bytes, all files together."""
    files: int
    changed: datetime | None


def stamp(path: str) -> Stamp | None:
    """None when nothing that may be used lies there."""
    try:
        return stamp_of(find(path, settings.ROOTS))
    except (Failure, OSError):
        return None


def stamp_of(files: Sequence[DataFile]) -> Stamp:
    """Raises OSError."""
    hashed, size, newest = hashlib.sha256(), 0, 0
    for file in files:
        facts = file.path.stat()
        size += facts.st_size
        newest = max(newest, facts.st_mtime_ns)
        hashed.update(f"{file.name}\0{facts.st_size}\0{facts.st_mtime_ns}\0{facts.st_ino}\n".encode(errors="replace"))
    changed = datetime.fromtimestamp(newest / 1e9, UTC) if files else None
    return Stamp(hashed.hexdigest(), size, len(files), changed)


def current_version(dataset: Dataset) -> DatasetVersion | None:
    """The version of what lies there now, made if there is none yet; None when nothing usable lies there.

    A file that was only touched is no new version, as far as its content has been read.
    """
    found = stamp(dataset.path)
    if found is None:
        return None
    last = latest(dataset)
    if last is not None and last.stamp == found.value:
        return last
    return _take_up(dataset, found, _digest_at_once(dataset.path, found))


def latest(dataset: Dataset) -> DatasetVersion | None:
    """The newest version that has been noticed; the files are not looked at."""
    return dataset.versions.order_by("-number").first()


def has_changed(version: DatasetVersion, dataset: Dataset) -> bool:
    """Whether something else lies there now. A version whose files are gone has changed, too."""
    found = stamp(dataset.path)
    if found is not None and found.value == version.stamp:
        return False
    newest = current_version(dataset) if found is not None else None
    return newest is None or (newest.pk != version.pk and not (version.digest and newest.digest == version.digest))


def version_for_job(path: object, team: Team) -> DatasetVersion | None:
    """The version of the team's dataset that a request names; None when that path is not registered."""
    dataset = Dataset.objects.filter(team=team, path=path).first() if isinstance(path, str) else None
    return None if dataset is None else current_version(dataset)


def _take_up(dataset: Dataset, found: Stamp, digest: str) -> DatasetVersion:
    with transaction.atomic():
        Dataset.objects.select_for_update().get(pk=dataset.pk)
        last = latest(dataset)  # somebody else may have been faster
        if last is not None and last.stamp == found.value:
            return last
        if last is not None and digest and last.digest == digest:
            last.stamp, last.changed = found.value, found.changed
            last.save(update_fields=["stamp", "changed"])
            return last
        return DatasetVersion.objects.create(
            dataset=dataset,
            number=(last.number if last else 0) + 1,
            stamp=found.value,
            digest=digest,
            size=found.size,
            files=found.files,
            changed=found.changed,
        )


def settle(version: DatasetVersion, digest: str) -> DatasetVersion:
    """The version, once its content has been read: if it is that of the one before, which was only touched, that one.

    Runs and reports of it go over. Nothing is done when the files have changed meanwhile.
    """
    with transaction.atomic():
        dataset = Dataset.with_removed.select_for_update().get(pk=version.dataset_id)
        found = DatasetVersion.objects.select_related("dataset__team").filter(pk=version.pk).first()
        version = found or latest(dataset) or version  # somebody else may have been faster
        if found is None or version.digest:
            return version
        before = dataset.versions.filter(number__lt=version.number).order_by("-number").first()
        if before is None or before.digest != digest:
            version.digest = digest
            version.save(update_fields=["digest"])
            return version
        Run.objects.filter(dataset_version=version).update(dataset_version=before)
        known = before.inspections.values_list("key", flat=True)
        version.inspections.exclude(key__in=list(known)).update(version=before)
        stamped = version.stamp, version.changed
        version.delete()
        before.stamp, before.changed = stamped
        before.save(update_fields=["stamp", "changed"])
        return before


def _digest_at_once(path: str, found: Stamp) -> str:
    """Empty for what is too much to read now, or changes while it is read."""
    return _digest(path, found.value) if found.size <= READ_AT_ONCE else ""


@lru_cache(maxsize=64)
def _digest(path: str, stamped: str) -> str:
    try:
        files = find(path, settings.ROOTS)
        digest = digest_of(files)
        return digest if stamp_of(files).value == stamped else ""
    except (Failure, OSError):
        return ""
