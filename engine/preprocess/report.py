"""`data/report.json`: what became of every row, so that nothing is dropped unsaid."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from engine.preprocess.encoding import Encoded
from engine.problems import Problem

EXAMPLES = 5


@dataclass
class Report:
    """Counts of rows, and the lines of the first few that were dropped for each reason. Small, however many rows."""

    read: int = 0
    kept: int = 0
    shortened: int = 0
    tokens: int = 0
    trained: int = 0
    longest: int = 0
    sequences: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, rows: Encoded) -> None:
        self.read += rows.read
        self.kept += len(rows.lengths)
        self.shortened += rows.shortened
        self.tokens += len(rows.ids)
        self.trained += rows.trained
        self.longest = max(self.longest, int(rows.lengths.max(initial=0)))
        for reason, line in rows.dropped:
            self.drop(reason, line)

    def drop(self, reason: str, line: int) -> None:
        self.dropped[reason] += 1
        lines = self.lines.setdefault(reason, [])
        if len(lines) < EXAMPLES:
            lines.append(line)

    def state(self) -> dict[str, Any]:
        """To be written down, and read by `restored`."""
        return vars(self) | {"dropped": dict(self.dropped)}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Report:
        return cls(**(state | {"dropped": Counter(state["dropped"])}))

    def to_json(self, samples: int, seq_length: int) -> dict[str, Any]:
        return {
            "rows_read": self.read,
            "rows_kept": self.kept,
            "rows_shortened": self.shortened,
            "rows_dropped": [
                {"reason": reason, "rows": count, "first_lines": self.lines[reason]}
                for reason, count in sorted(self.dropped.items())
            ],
            "samples": samples,
            "seq_length": seq_length,
            "tokens": self.tokens,
            "trained_tokens": self.trained,
            "longest_sample": self.longest,
        }

    def problem(self, seq_length: int) -> Problem:
        """What a person should know of it: a warning when rows were dropped, a note when they were only shortened."""
        dropped = self.dropped.total()
        return Problem(
            code="preprocess.rows_dropped" if dropped else "preprocess.rows_shortened",
            field="train.seq_length" if not dropped else "train.dataset.path",
            severity="warning" if dropped else "note",
            parameters={
                "read": self.read,
                "kept": self.kept,
                "shortened": self.shortened,
                "dropped": dropped,
                "seq_length": seq_length,
                "lines": ", ".join(str(line) for line in sorted(chain.from_iterable(self.lines.values()))[:EXAMPLES]),
            },
        )

    def sentence(self) -> str:
        dropped = ", ".join(f"{count} {reason}" for reason, count in sorted(self.dropped.items()))
        return (
            f"rows read: {self.read}, kept: {self.kept}, of them shortened: {self.shortened}, "
            f"dropped: {self.dropped.total()}{f' ({dropped})' if dropped else ''}"
        )
