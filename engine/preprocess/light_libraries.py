"""Tokenizers need no torch, and importing it takes longer than many a dataset."""

from __future__ import annotations

import sys


def without_torch() -> None:
    """To be called before anything of this process imports transformers, which then does without."""
    if "torch" not in sys.modules:
        sys.modules["torch"] = None  # type: ignore[assignment]
