"""Where in its file a reader is, for whoever wants to come back to a row without reading all before it."""

from __future__ import annotations

from collections.abc import Callable


class Places:
    """Is given to `kinds.records`, which says how to find out."""

    def __init__(self) -> None:
        self._ask: Callable[[], int] | None = None
        self.kind = ""
        """`lines`, `csv` or `array`; empty for what has no places: Parquet, and files that are refused whole."""

    def follow(self, kind: str, ask: Callable[[], int]) -> None:
        self.kind, self._ask = kind, ask

    def now(self) -> int:
        """The byte behind the row that came last; 0 where there are no places."""
        return self._ask() if self._ask is not None else 0
