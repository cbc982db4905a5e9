"""The header of a safetensors file, read with the standard library: 8 bytes of length, JSON, then the data.

https://huggingface.co/docs/safetensors: offsets count from the end of the header, and cover the data without a hole.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

LONGEST = 100_000_000
"""Bytes of a header; the library's own limit."""
BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
}  # fmt: skip
Shapes = dict[str, tuple[int, ...]]


class Unreadable(Exception):
    """The file is no whole safetensors file; the argument is one of `truncated`, `no_header`, `bad_tensor`."""


def shapes(path: Path) -> Shapes:
    """The shape of each tensor by its name. Raises Unreadable, OSError."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or not 2 <= length <= LONGEST:
            raise Unreadable("no_header")
        if 8 + length > size:
            raise Unreadable("truncated")
        header = _parsed(file.read(length))
    tensors = {name: _tensor(entry) for name, entry in header.items() if name != "__metadata__"}
    if not tensors:
        raise Unreadable("no_header")
    if 8 + length + max(end for _, end in tensors.values()) != size:
        raise Unreadable("truncated")
    return {name: shape for name, (shape, _) in tensors.items()}


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("no_header") from None
    if not isinstance(header, dict):
        raise Unreadable("no_header")
    return header


def _tensor(entry: Any) -> tuple[tuple[int, ...], int]:
    """Shape and end of a tensor."""
    try:
        shape, (start, end) = tuple(entry["shape"]), entry["data_offsets"]
        sound = all(type(number) is int and number >= 0 for number in (*shape, start, end))
        bits = BITS.get(entry["dtype"])
        if not sound or start > end or (bits is not None and (end - start) * 8 != math.prod(shape) * bits):
            raise Unreadable("bad_tensor")
    except (KeyError, TypeError, ValueError):
        raise Unreadable("bad_tensor") from None
    return shape, end
