"""Reads the followed files of a run: by byte offset, whole lines, and never outside the run's folder.

An offset handed out here is always the end of a line, or a cut inside a line that is longer than
`LINE_CAP` or that nobody has continued for `SETTLED_SECONDS`; a UTF-8 character is not cut.
"""

from __future__ import annotations

import os
import re
import stat
import time
from pathlib import Path
from typing import BinaryIO, NamedTuple

PIECE = 256 * 1024
"""Bytes read at once."""
LINE_CAP = 64 * 1024
"""A line longer than this is handed out in parts."""
SETTLED_SECONDS = 2.0
"""A file untouched for so long: its unfinished last line is handed out as it is."""

_FOLLOWED = re.compile(r"events\.jsonl|logs/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}\.log")


class Piece(NamedTuple):
    """Bytes of a file from offset `start`."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.data)


def is_followed(name: str) -> bool:
    """Whether a browser may read this file; `name` is relative to the run's folder."""
    return _FOLLOWED.fullmatch(name) is not None


def followed_files(folder: Path) -> list[str]:
    """Names of the followed files that exist: events first, then the logs from old to new."""
    logs = [path for path in (folder / "logs").glob("*.log") if is_followed(f"logs/{path.name}")]
    logs.sort(key=lambda path: (path.stat().st_ctime, path.name))
    events = ["events.jsonl"] if (folder / "events.jsonl").exists() else []
    return events + [f"logs/{path.name}" for path in logs]


def open_followed(folder: Path, name: str) -> BinaryIO:
    """Open a followed file; symbolic links inside the run's folder are not followed.

    Raises FileNotFoundError also for a name that may not be read.
    """
    if not is_followed(name):
        raise FileNotFoundError(name)
    try:
        descriptor = _open_inside(folder, name)
    except OSError as error:
        raise FileNotFoundError(name) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(name)
    return os.fdopen(descriptor, "rb", buffering=0)


def _open_inside(folder: Path, name: str) -> int:
    *folders, last = name.split("/")
    above = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in folders:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
            os.close(above)
            above = below
        # O_NONBLOCK: a FIFO must not hang the reader.
        return os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=above)
    finally:
        os.close(above)


def read_lines(file: BinaryIO, since: int, limit: int = PIECE) -> Piece:
    """Whole lines from `since`, at most `limit` bytes (but a long line is never waited for); maybe none."""
    data = _read(file, since, max(limit, LINE_CAP))
    return Piece(since, data[: _cut(file, data)])


def read_before(file: BinaryIO, end: int, size: int) -> Piece:
    """At most `size` bytes before `end`, from the start of a line if there is one among them."""
    start = max(0, end - size)
    if start == 0:
        return Piece(0, _read(file, 0, end))
    data = _read(file, start - 1, end - start + 1)
    line = data.find(b"\n", 0, -1) + 1 or 1
    return Piece(start - 1 + line, data[line:])


def line_end(file: BinaryIO, since: int = 0) -> int:
    """The last offset, not before `since`, up to which the file may be handed out."""
    size = os.fstat(file.fileno()).st_size
    if size <= since:
        return since
    lines = read_lines(file, max(since, size - LINE_CAP), LINE_CAP)
    last = read_lines(file, lines.end, LINE_CAP)  # an unfinished line that may be handed out
    return last.end if lines.data else since


def cut_piece(data: bytes) -> int:
    """Where to cut bytes that were taken from the middle of a file: after a line, else after a character."""
    return data.rfind(b"\n") + 1 or _character_end(data)


def _cut(file: BinaryIO, data: bytes) -> int:
    newline = data.rfind(b"\n") + 1
    if newline:
        return newline
    if len(data) >= LINE_CAP:
        return _character_end(data)
    # Looked at after the read: bytes written in between make the file young again.
    age = time.time() - os.fstat(file.fileno()).st_mtime
    return len(data) if age > SETTLED_SECONDS else 0


def _character_end(data: bytes) -> int:
    """Length without an unfinished UTF-8 character at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            length = 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if length > back else len(data)
    return len(data)


def _read(file: BinaryIO, since: int, size: int) -> bytes:
    if since > os.fstat(file.fileno()).st_size:  # it may be more than the file system can count
        return b""
    file.seek(since)
    parts = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
