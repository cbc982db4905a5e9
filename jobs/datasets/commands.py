"""The question to `python -m engine.inspection` about a dataset, as JSON on its standard input."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

ASKED = ("format", "tokenizer", "template", "train_on", "broken_rows", "columns", "tags", "seq_length")

PLACES = "places"
"""Folder beside the reports: where in its file each row begins."""


def request(path: str, asked: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """roots: held to by the process that opens the files, too. cache: where places of rows are kept."""
    return {
        "input": path,
        **{name: asked[name] for name in ASKED if asked.get(name)},
        "roots": [str(root) for root in settings.ROOTS],
        "cache": str(Path(settings.DATA_DIR) / "reports" / PLACES),
        **more,
    }
