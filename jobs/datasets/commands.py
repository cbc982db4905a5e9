"""The engine's command lines for questions about a dataset."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

OPTIONS = {
    "format": "--format",
    "tokenizer": "--tokenizer-name-or-path",
    "template": "--template",
    "train_on": "--train-on",
    "seq_length": "--seq-length",
}
"""What is asked → the engine's name of it."""


def inspect_argv(path: str, asked: Mapping[str, Any], *more: str) -> list[str]:
    """`python -m engine inspect` for a path and what was asked about it."""
    return [sys.executable, "-m", "engine", "inspect", "--input", path, *_options(asked), *more, "--json"]


def _options(asked: Mapping[str, Any]) -> Iterator[str]:
    for name, option in OPTIONS.items():
        if asked.get(name):
            yield from (option, str(asked[name]))
    for name in ("columns", "tags"):
        for key, value in (asked.get(name) or {}).items():
            yield from (f"--{name}", f"{key}={value}")
