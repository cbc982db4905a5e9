"""Where a path of a request really leads, and whether it may.

Asked when a request is checked, and again by the process that opens the file: a link may have been
exchanged in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.failures import Failure

Roots = Sequence[str | Path] | None
"""Folders in which files must lie; None: anywhere."""


def resolved(path: str | Path, field: str, roots: Roots) -> Path:
    """The real path, through every symbolic link. Raises Failure `path.unusable` or `path.outside`.

    Nothing is said about what is outside, not even whether it exists.
    """
    shown = str(path)[:200]
    try:
        real = Path(path).resolve()
        allowed = None if roots is None else [Path(root).resolve() for root in roots]
    except (OSError, ValueError, RuntimeError):  # a name too long, a null character, a loop of links
        raise Failure("path.unusable", field, path=shown) from None
    if allowed is not None and not any(real.is_relative_to(root) for root in allowed):
        raise Failure("path.outside", field, path=shown, roots=", ".join(map(str, roots or ())))
    return real
