"""The index of a Megatron dataset (`.idx`), read with the standard library: how many samples, how many tokens.

9 bytes `MMIDIDX\\0\\0`, version 1 (8 bytes), type of the numbers (1), sequences S (8), documents + 1 (8), then S
lengths of 4 bytes; little endian. Source: Megatron-LM core_v0.12.1, megatron/core/datasets/indexed_dataset.py.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"MMIDIDX\x00\x00"
HEADER = struct.Struct("<9sQBQQ")


class Unreadable(ValueError):
    """The file is no index, or not whole."""


@dataclass(frozen=True)
class Counts:
    sequences: int
    tokens: int
    longest: int


def counts(path: Path) -> Counts:
    """Raises Unreadable, OSError."""
    with path.open("rb") as file:
        header = file.read(HEADER.size)
        if len(header) < HEADER.size:
            raise Unreadable(f"{path}: shorter than a header")
        magic, version, _, sequences, documents = HEADER.unpack(header)
        rest = path.stat().st_size - HEADER.size
        if magic != MAGIC or version != 1 or rest < 12 * sequences + 8 * documents:
            raise Unreadable(f"{path}: no whole index")
        lengths = array("i", file.read(4 * sequences))
    return Counts(sequences, sum(lengths), max(lengths, default=0))
