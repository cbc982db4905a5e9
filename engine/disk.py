"""A full disk, by whatever words it makes itself known."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

LEAST_FREE = 1 << 20
"""Bytes; with less nothing of use can be written."""
CODES = (errno.ENOSPC, errno.EDQUOT)
WORDS = ("No space left on device", "(os error 28)", "Disk quota exceeded", "(os error 122)")
"""libc's and Rust's (safetensors)."""
ZIP_WRITER = re.compile(r"PytorchStreamWriter failed writing file|inline_container.*unexpected pos")
"""torch.save's, which keeps the reason to itself; it has the memory it writes from, so that only the disk is left."""


def is_full(path: Path) -> bool:
    """Whether the disk of an existing folder has no room for another file."""
    facts = os.statvfs(path)
    return facts.f_bavail * facts.f_frsize < LEAST_FREE or (facts.f_files > 0 and facts.f_favail == 0)


def tells_of_full_disk(error: BaseException) -> bool:
    """Whether an exception, or one that it came from, is about a full disk."""
    return any(
        (isinstance(one, OSError) and one.errno in CODES)
        or says_full(str(one))
        or ZIP_WRITER.search(str(one)) is not None
        for one in _chain(error)
    )


def says_full(text: str) -> bool:
    return any(words in text for words in WORDS)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
