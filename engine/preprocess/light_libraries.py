"""Tokenizers need no torch, and importing it takes longer than many a dataset."""

from __future__ import annotations

import os
import sys


def without_torch() -> None:
    """To be called before anything of this process imports transformers, which then does without."""
    if "torch" not in sys.modules:
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # it would warn that torch is not there
        sys.modules["torch"] = None  # type: ignore[assignment]
