"""Megatron's IndexedDataset on disk: `<prefix>.bin` has the tokens back to back, `<prefix>.idx` says where each
sequence lies. The layout is megatron-core's (0.16.1, megatron/core/datasets/indexed_dataset.py), little endian:

    9 bytes        MMIDIDX and two zero bytes
    uint64         version, 1
    uint8          code of the tokens' type; 4 is int32, the only one written here: labels hold -100
    uint64         sequences S
    uint64         entries of the document list D = documents + 1
    int32 [S]      tokens of each sequence
    int64 [S]      byte at which each sequence begins in .bin
    int64 [D]      first sequence of each document, and S at the end

Each sequence is a document here. The index is written last and appears as a whole: a prefix without one is none.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
INT32 = 4
HEADER = struct.Struct("<9sQBQQ")
TOKEN = np.dtype("<i4")
BLOCK = 1 << 16
"""Sequences whose places are worked out at once."""

Ids = NDArray[np.int32]


class NotIndexed(Exception):
    """The files are not an IndexedDataset of int32, or are damaged."""


def bin_path(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.bin")


def idx_path(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.idx")


def write_index(path: Path, lengths: Ids) -> None:
    """The index of sequences of these lengths ([S], may be mapped from a file), each a document."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(HEADER.pack(MAGIC, VERSION, INT32, len(lengths), len(lengths) + 1))
        for part in _blocks(lengths):
            file.write(part.astype(TOKEN).tobytes())
        _write_places(file, lengths)
        for start in range(0, len(lengths) + 1, BLOCK):
            file.write(np.arange(start, min(start + BLOCK, len(lengths) + 1), dtype="<i8").tobytes())
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _write_places(file: BinaryIO, lengths: Ids) -> None:
    begin = 0
    for part in _blocks(lengths):
        ends = begin + np.cumsum(part, dtype="<i8") * TOKEN.itemsize
        file.write(np.concatenate([[begin], ends[:-1]]).astype("<i8").tobytes())
        begin = int(ends[-1])


def _blocks(lengths: Ids) -> Iterator[Ids]:
    return (lengths[start : start + BLOCK] for start in range(0, len(lengths), BLOCK))


class IndexedReader:
    """Sequences of one prefix; both files stay mapped, not loaded. Raises NotIndexed or OSError.

    lengths: int32 [S]; starts: int64 [S], in tokens; tokens: int32 [all tokens].
    """

    def __init__(self, prefix: Path) -> None:
        index = np.memmap(idx_path(prefix), np.uint8, "r")
        count, documents = self._counts(index)
        end = HEADER.size + 4 * count
        self.lengths: Ids = index[HEADER.size : end].view(TOKEN)
        places = index[end : end + 8 * count].view("<i8")
        self.documents: NDArray[np.int64] = index[end + 8 * count : end + 8 * (count + documents)].view("<i8")
        self.starts: NDArray[np.int64] = places // TOKEN.itemsize
        size = bin_path(prefix).stat().st_size
        whole = int(self.starts[-1] + self.lengths[-1]) * TOKEN.itemsize if count else 0
        if size != whole:
            raise NotIndexed(f"{bin_path(prefix)} has {size} bytes, its index says {whole}")
        self.tokens: Ids = np.memmap(bin_path(prefix), TOKEN, "r") if size else np.empty(0, TOKEN)

    @staticmethod
    def _counts(index: NDArray[np.uint8]) -> tuple[int, int]:
        if len(index) < HEADER.size:
            raise NotIndexed("the index is cut off")
        magic, version, code, count, documents = HEADER.unpack(index[: HEADER.size].tobytes())
        if (magic, version, code) != (MAGIC, VERSION, INT32):
            raise NotIndexed(f"not an index of int32 tokens: {magic!r}, version {version}, type {code}")
        if len(index) < HEADER.size + 12 * count + 8 * documents:
            raise NotIndexed("the index is cut off")
        return count, documents

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> Ids:
        start = int(self.starts[number])
        return self.tokens[start : start + int(self.lengths[number])]
