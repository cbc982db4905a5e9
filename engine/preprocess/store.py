"""Tokens on disk: `data/tokens.safetensors`, rows one behind the other without padding.

input_ids  int32 [tokens]       all rows
labels     int32 [tokens]       like input_ids; IGNORED where a token is read but not learnt
offsets    int64 [rows + 1]     row i is [offsets[i], offsets[i + 1])
trained    int32 [rows]         tokens of the row that enter the loss: labels[1:] that are not IGNORED
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

IGNORED = -100
"""Label of a token that does not enter the loss; torch's and Hugging Face's own value."""

Ids = NDArray[np.int32]
Row = tuple[Ids, Ids]
"""Token ids and labels of one sample, both [length]."""


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows; the file is whole or absent. The caller gives at least one row."""
    lengths = np.array([len(ids) for ids, _ in rows], dtype=np.int64)
    tensors = {
        "input_ids": np.concatenate([ids for ids, _ in rows]),
        "labels": np.concatenate([labels for _, labels in rows]),
        "offsets": np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        "trained": np.array([trained_tokens(labels) for _, labels in rows], dtype=np.int32),
    }
    temporary = path.with_name(f".{path.name}.tmp")
    save_file(tensors, temporary)
    temporary.chmod(0o644)
    temporary.replace(path)


def trained_tokens(labels: Ids) -> int:
    """Predictions that a row asks for: the first token is never predicted."""
    return int(np.count_nonzero(labels[1:] != IGNORED))


class TokenStore:
    """Reads rows out of the file as they are needed; the file stays mapped, not loaded."""

    def __init__(self, path: Path) -> None:
        self._file = _mapped(path)
        self._ids = self._file.get_slice("input_ids")
        self._labels = self._file.get_slice("labels")
        self._offsets: NDArray[np.int64] = self._file.get_tensor("offsets")
        self.trained: Ids = self._file.get_tensor("trained")

    def __len__(self) -> int:
        return len(self.trained)

    def row(self, index: int) -> Row:
        start, end = int(self._offsets[index]), int(self._offsets[index + 1])
        return self._ids[start:end], self._labels[start:end]


def _mapped(path: Path) -> Any:
    return safe_open(str(path), framework="np")
