"""Appends sequences to the `.bin` files of a set, and can go on where a killed process left off."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from engine.dataset_files import stem
from engine.preprocess.indexed import TOKEN, Ids, write_index

LENGTHS = "lengths.part"


@dataclass(frozen=True)
class Mark:
    """How much is written: a place to go on from."""

    sequences: int = 0
    tokens: int = 0


class TokenFiles:
    """`<folder>/<key>_document.bin` of each key, all with the same lengths; what is behind the mark is cut off."""

    def __init__(self, folder: Path, keys: Sequence[str], mark: Mark) -> None:
        self._folder, self._keys, self.mark = folder, keys, mark
        self._bins = [_opened(folder / f"{stem(key)}.bin", mark.tokens) for key in keys]
        self._lengths = _opened(folder / LENGTHS, mark.sequences)

    def add(self, lengths: Ids, *parts: Ids) -> None:
        """Sequences of these lengths [S]; for each key its tokens, back to back [sum of lengths]."""
        for file, part in zip(self._bins, parts, strict=True):
            file.write(part.astype(TOKEN, copy=False).data)
        self._lengths.write(lengths.astype(TOKEN, copy=False).data)
        self.mark = Mark(self.mark.sequences + len(lengths), self.mark.tokens + int(lengths.sum(dtype=np.int64)))

    def sync(self) -> Mark:
        """Bring everything to the disk; then the mark may be written down."""
        for file in (*self._bins, self._lengths):
            file.flush()
            os.fsync(file.fileno())
        return self.mark

    def finish(self) -> None:
        """Close the files and write each its index. Doing it again is harmless."""
        self.sync()
        self.close()
        path = self._folder / LENGTHS
        lengths: Ids = np.memmap(path, TOKEN, "r") if self.mark.sequences else np.empty(0, TOKEN)
        for key in self._keys:
            write_index(self._folder / f"{stem(key)}.idx", lengths)

    def close(self) -> None:
        for file in (*self._bins, self._lengths):
            file.close()


def is_there(folder: Path, keys: Sequence[str], mark: Mark) -> bool:
    """Whether the files go as far as the mark."""
    wanted = {folder / f"{stem(key)}.bin": mark.tokens for key in keys} | {folder / LENGTHS: mark.sequences}
    return all(path.exists() and path.stat().st_size >= items * TOKEN.itemsize for path, items in wanted.items())


def _opened(path: Path, items: int) -> BinaryIO:
    """A file to append to, with no more than `items` in it."""
    file = path.open("ab")
    file.truncate(items * TOKEN.itemsize)
    file.seek(0, os.SEEK_END)
    return file
