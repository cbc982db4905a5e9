"""The end of an upload: proven whole, moved to its place, registered for its team."""

from __future__ import annotations

import fcntl
import hashlib
import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from jobs.datasets.upload_names import free_name
from jobs.datasets.upload_refusals import UploadRefused
from jobs.datasets.uploads import locked, partial, ready
from jobs.datasets.versions import PIECE, current_version, stamp
from jobs.models import AuditEvent, Dataset, Team, Upload, UploadState


def finish(upload: Upload, sha256: str, name: str = "") -> Dataset:
    """The dataset that the upload has become; asked again, the same. Raises UploadRefused.

    sha256: of the whole file in hex, as the sender has it. A file that is another one is thrown away.
    name: of the dataset; by default the file's.
    """
    upload.refresh_from_db()
    if upload.state == UploadState.DONE and upload.dataset is not None:
        return upload.dataset
    if upload.state != UploadState.OPEN:
        raise UploadRefused(410, _("This upload has ended."))
    if partial(upload).exists() or not upload.path or not Path(upload.path).exists():  # what is there may be another's
        with locked(upload) as file:
            _prove(upload, file, sha256)
            same = _already_there(upload)
            if same is not None:
                return _done(upload, same)
            _place(upload, file)
    return _register(upload, name)


def _prove(upload: Upload, file: int, sha256: str) -> None:
    size = os.fstat(file).st_size
    if size != upload.size:
        raise UploadRefused(409, _("The upload is not complete."), offset=size)
    if _digest(file) != sha256.lower():
        Upload.objects.filter(pk=upload.pk).update(state=UploadState.FAILED)
        partial(upload).unlink(missing_ok=True)
        words = _("What has arrived is not the file that was sent: its checksum is another one. Send it again.")
        raise UploadRefused(422, words, offset=0)
    upload.sha256 = sha256.lower()
    os.fsync(file)


def _digest(file: int) -> str:
    hashed, position = hashlib.sha256(), 0
    while data := os.pread(file, PIECE, position):
        hashed.update(data)
        position += len(data)
    return hashed.hexdigest()


def _already_there(upload: Upload) -> Dataset | None:
    """The team's dataset that an earlier upload of the same content has become, if it is still that."""
    below = f"{team_folder(upload.team)}/"
    for dataset in Dataset.objects.filter(team=upload.team, path__startswith=below, versions__digest=upload.sha256):
        newest = dataset.versions.order_by("-number").first()
        found = stamp(dataset.path)
        if newest and found and (newest.digest, newest.stamp) == (upload.sha256, found.value):
            return dataset
    return None


def _place(upload: Upload, file: int) -> None:
    """Rename to a free name of the team's folder. The row knows the place before the file is there."""
    folder = team_folder(upload.team)
    with _placing():
        folder.mkdir(exist_ok=True, mode=0o750)
        if folder.is_symlink() or not folder.is_dir():
            raise UploadRefused(500, _("The team's folder for uploads is not a folder."))
        upload.path = str(folder / free_name(folder, upload.name))
        upload.save(update_fields=["path", "sha256"])
        os.fchmod(file, 0o640)
        partial(upload).rename(upload.path)
        _sync_folder(folder)


@contextmanager
def _placing() -> Iterator[None]:
    """One at a time: a rename would replace what another one has just put there."""
    descriptor = os.open(ready() / ".placing", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _register(upload: Upload, name: str) -> Dataset:
    facts = {"name": _shown(name) or Path(upload.name).stem, "created_by": upload.user}
    with transaction.atomic():
        dataset, _new = Dataset.with_removed.update_or_create(
            team=upload.team, path=upload.path, defaults={"removed": None}, create_defaults=facts
        )
        detail = {"path": upload.path, "team": upload.team.pk, "sha256": upload.sha256}
        AuditEvent.objects.create(user=upload.user, action="dataset.upload", detail=detail)
        return _done(upload, dataset)


def _done(upload: Upload, dataset: Dataset) -> Dataset:
    version = current_version(dataset)
    if version is not None and not version.digest:  # too large to be read a second time here
        version.digest = upload.sha256
        version.save(update_fields=["digest"])
    Upload.objects.filter(pk=upload.pk).update(state=UploadState.DONE, dataset=dataset, sha256=upload.sha256)
    if not upload.path or upload.path != dataset.path:
        partial(upload).unlink(missing_ok=True)
    return dataset


def _shown(name: str) -> str:
    """One line of at most 120 characters."""
    printable = "".join(" " if unicodedata.category(one)[0] == "C" else one for one in name)
    return " ".join(printable.split())[:120]


def team_folder(team: Team) -> Path:
    """Where a team's uploads lie."""
    folder: Path = settings.UPLOADS_DIR / str(team.pk)
    return folder
