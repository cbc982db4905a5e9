"""Uploads in pieces: begun, continued from wherever they were broken off, proven, and only then there.

The partial file is the truth: its size is the offset at which the next piece belongs. A lock on it keeps two
writers of one upload apart. The finished file gets its name by one rename on the same disk.

Own code: the tus protocol has no checksum of the whole file, and its Django servers are not kept up.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from jobs.datasets.upload_names import safe_name
from jobs.datasets.upload_refusals import UploadRefused
from jobs.models import Team, Upload, UploadState

PIECE_BYTES = 8 * 1024 * 1024
"""What the page sends at once; more is not taken."""
MOST_OPEN = 5
"""Unfinished uploads of one person."""
MOST_A_MINUTE = 30
"""Uploads that one person may begin within a minute."""
UNWRITABLE = _("The server cannot write into its folder for uploads. Tell its administrator.")
RESERVE_BYTES = 512 * 1024 * 1024
"""Stays free on the disk: runs and the database live there, too."""


def begin(*, user: User, team: Team, name: str, size: int, modified: int) -> tuple[Upload, bool]:
    """A new upload, or the person's unfinished one of the very same file; True for a new one. Raises UploadRefused."""
    kept_name = safe_name(name)
    if kept_name is None:
        raise UploadRefused(422, _("Files ending in .json, .jsonl, .csv, .parquet or .txt are taken, no others."))
    if size <= 0:
        raise UploadRefused(422, _("The file is empty."))
    if size > settings.UPLOAD_LIMIT_BYTES:
        raise UploadRefused(413, _("The file is larger than this site takes. Put it on the server and register it."))
    same = Upload.objects.filter(
        user=user, team=team, name=kept_name, size=size, modified=modified, state=UploadState.OPEN
    ).first()
    if same is not None:
        return same, False
    _refuse_too_many(user)
    _refuse_full_disk(size)
    return Upload.objects.create(user=user, team=team, name=kept_name, size=size, modified=modified), True


def offset(upload: Upload) -> int:
    """How many bytes have come."""
    if upload.state == UploadState.DONE:
        return upload.size
    try:
        return partial(upload).stat().st_size
    except FileNotFoundError:
        return 0


def receive(upload: Upload, start: int, data: bytes, sha256: bytes) -> int:
    """Append a piece that begins at `start`; returns the new offset. Raises UploadRefused, and nothing was written."""
    if upload.state != UploadState.OPEN:
        raise UploadRefused(410, _("This upload has ended."))
    if not data or len(data) > PIECE_BYTES:
        raise UploadRefused(413, _("A piece of this size is not taken."))
    with locked(upload) as file:
        here = os.fstat(file).st_size
        if start != here:
            raise UploadRefused(409, _("The upload goes on elsewhere."), offset=here)
        if here + len(data) > upload.size:
            raise UploadRefused(413, _("This is more than the file was said to hold."), offset=here)
        if hashlib.sha256(data).digest() != sha256:
            raise UploadRefused(422, _("The piece was damaged on its way."), offset=here)
        _refuse_full_disk(len(data), promised=False)
        _append(file, here, data)
    Upload.objects.filter(pk=upload.pk).update(touched=timezone.now())
    return here + len(data)


def cancel(upload: Upload) -> None:
    """Give an unfinished upload up."""
    if Upload.objects.filter(pk=upload.pk, state=UploadState.OPEN).update(state=UploadState.CANCELLED):
        partial(upload).unlink(missing_ok=True)


@contextmanager
def locked(upload: Upload) -> Iterator[int]:
    """The partial file, held by us alone. Raises UploadRefused while somebody else writes it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(ready() / upload.pk.hex, flags, 0o600)
    except OSError as error:
        raise UploadRefused(500, UNWRITABLE) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UploadRefused(423, _("Another window is sending this file."), offset=offset(upload)) from None
        if os.fstat(descriptor).st_nlink == 0:  # finished or given up meanwhile
            raise UploadRefused(410, _("This upload has ended."))
        yield descriptor
    finally:
        os.close(descriptor)


def partial(upload: Upload) -> Path:
    return incoming() / upload.pk.hex


def incoming() -> Path:
    """Where unfinished uploads lie: beside the finished ones, on the same disk; hidden, so that no folder lists it."""
    folder: Path = settings.UPLOADS_DIR / ".incoming"
    return folder


def ready() -> Path:
    """The same, made if it is missing. Raises UploadRefused."""
    try:
        incoming().mkdir(parents=True, exist_ok=True, mode=0o750)
    except OSError as error:
        raise UploadRefused(500, UNWRITABLE) from error
    return incoming()


def open_uploads(user: User) -> list[Upload]:
    """The person's unfinished ones in teams that they still work in, each with `arrived`, its bytes so far."""
    teams = Team.objects.of(user)
    found = list(Upload.objects.filter(user=user, state=UploadState.OPEN, team__in=teams).select_related("team"))
    for one in found:
        one.arrived = offset(one)  # type: ignore[attr-defined]
    return found


def _append(file: int, here: int, data: bytes) -> None:
    """All or nothing: what a full disk has cut off is taken back."""
    try:
        rest = memoryview(data)
        position = here
        while rest:
            written = os.pwrite(file, rest, position)
            rest, position = rest[written:], position + written
    except OSError as error:
        os.ftruncate(file, here)
        raise UploadRefused(507, _("The server's disk is full."), offset=here) from error


def _refuse_too_many(user: User) -> None:
    mine = Upload.objects.filter(user=user)
    if mine.filter(state=UploadState.OPEN).count() >= MOST_OPEN:
        raise UploadRefused(429, _("You have too many unfinished uploads. Finish or remove one of them first."))
    if mine.filter(created__gt=timezone.now() - timedelta(minutes=1)).count() >= MOST_A_MINUTE:
        raise UploadRefused(429, _("That is too many uploads at once. Wait a minute."))


def _refuse_full_disk(needed: int, *, promised: bool = True) -> None:
    """promised: what others have begun and not sent yet counts, too."""
    outstanding = 0
    if promised:
        begun = Upload.objects.filter(state=UploadState.OPEN)
        total = begun.aggregate(total=Sum("size"))["total"] or 0
        outstanding = total - sum(offset(one) for one in begun) if total else 0
    if shutil.disk_usage(ready()).free < needed + outstanding + RESERVE_BYTES:
        raise UploadRefused(507, _("There is not enough room on the server's disk for this file."))
