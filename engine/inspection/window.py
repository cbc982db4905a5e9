"""A part of a file that reads like a whole one: what must stand before it, the part, and what must stand behind."""

from __future__ import annotations

import io
from typing import BinaryIO


class Window(io.RawIOBase):
    """Bytes of `before`, then [start, end) of `file`, then `after`. Wrap it in a BufferedReader."""

    def __init__(self, file: BinaryIO, start: int, end: int, before: bytes = b"", after: bytes = b"") -> None:
        self._file, self._start, self._before, self._after = file, start, before, after
        self._inside = max(0, end - start)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        size = len(self._before) + self._inside + len(self._after)
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        data = self._piece(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _piece(self, most: int) -> bytes:
        at = self._at
        if at < len(self._before):
            return self._before[at : at + most]
        at -= len(self._before)
        if at < self._inside:
            self._file.seek(self._start + at)
            return self._file.read(min(most, self._inside - at))
        at -= self._inside
        return self._after[at : at + most]
