"""What became of each row on the way to a training: `data/report.json` of a run. Plain values, no text.

Reasons and notes are codes of `engine.problem_texts`; `engine.dataset_report.row_text` makes words of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict

from engine.dataset_report import TemplateChoice
from engine.formats.sample import Broken
from engine.problems import Problem, Value
from engine.spec import BrokenRows

EXAMPLES = 5
PATH = "train.dataset.path"
FILLED, NOTHING = "row.question_fills_seq_length", "row.nothing_learnt"
"""Reasons for which a row that can be read is not used."""


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Spot(_Shape):
    """A row that is not used. file: below the dataset's folder; line: within it, from 1."""

    file: str
    line: int
    reason: str
    parameters: dict[str, Value] = {}


class DroppedRows(_Shape):
    """Rows that are not used for one reason, and the first few of them."""

    reason: str
    rows: int
    examples: tuple[Spot, ...] = ()


class Packing(_Shape):
    """padding_share: of all places of the sequences, from 0 to 1."""

    sequences: int
    padding_share: float


class Preparation(_Shape):
    """rows_read = rows_kept + the rows of rows_dropped, always. What a framework of others does not tell is null."""

    rows_read: int
    rows_kept: int
    rows_shortened: int | None = None
    rows_dropped: tuple[DroppedRows, ...] = ()
    broken_rows: BrokenRows = "refuse"
    files_broken_off: int = 0
    """Files of which nothing is read behind a place: the rows that are lost there are in no count."""
    broken_off: tuple[Spot, ...] = ()
    """The first few of these places."""
    samples: int | None = None
    seq_length: int | None = None
    tokens: int | None = None
    trained_tokens: int | None = None
    longest_sample: int | None = None
    chat_template: TemplateChoice | None = None
    answers_left_out: int = 0
    """Answers that the template does not write, in rows that are kept."""
    packing: Packing | None = None
    """Null: each sample is a sequence of its own."""


@dataclass
class Dropped:
    """Counts rows that are not used by reason, and keeps the first of each. Small, however many there are."""

    reasons: dict[str, dict[str, Any]] = field(default_factory=dict)
    broken: int = 0
    """Of all: those that cannot even be read."""
    files_broken_off: int = 0
    broken_off: list[dict[str, Any]] = field(default_factory=list)

    def add(self, reason: str, file: str, line: int, parameters: dict[str, Value] | None = None) -> None:
        known = self.reasons.setdefault(reason, {"rows": 0, "examples": []})
        known["rows"] += 1
        if len(known["examples"]) < EXAMPLES:
            known["examples"].append(_spot(file, line, reason, parameters or {}))

    def add_broken(self, row: Broken) -> None:
        self.add(row.reason, row.file, row.line, row.parameters)
        self.broken += 1
        if row.ends:
            self.files_broken_off += 1
            if len(self.broken_off) < EXAMPLES:
                self.broken_off.append(_spot(row.file, row.line, row.reason, row.parameters))

    @property
    def rows(self) -> int:
        total: int = sum(one["rows"] for one in self.reasons.values())
        return total

    def to_json(self) -> dict[str, Any]:
        """These fields of a Preparation."""
        return {
            "rows_dropped": [{"reason": reason, **told} for reason, told in sorted(self.reasons.items())],
            "files_broken_off": self.files_broken_off,
            "broken_off": self.broken_off,
        }

    def sentence(self) -> str:
        """For the log: `dropped: 3 (2 row.missing_key, 1 json.syntax)`."""
        told = ", ".join(f"{one['rows']} {reason}" for reason, one in sorted(self.reasons.items()))
        ends = f"; files that break off, with rows behind that are not known: {self.files_broken_off}"
        return f"dropped: {self.rows}{f' ({told})' if told else ''}{ends if self.files_broken_off else ''}"

    def places(self) -> str:
        """The first few, as `rows.jsonl:7`."""
        spots = sorted((one["file"], one["line"]) for told in self.reasons.values() for one in told["examples"])
        return ", ".join(f"{file}:{line}" if file else str(line) for file, line in islice(spots, EXAMPLES))

    def problems(self, read: int, path: str) -> list[Problem]:
        """What a person should know of rows that were left out because they cannot be read."""
        found = []
        if self.broken:
            values: dict[str, Value] = {"path": path, "count": self.broken, "read": read, "lines": self.places()}
            found.append(_warning("preprocess.rows_left_out", values))
        for spot in self.broken_off:
            place: dict[str, Value] = {"path": spot["file"] or path, "line": spot["line"], "why": spot["reason"]}
            found.append(_warning("preprocess.broken_off", spot["parameters"] | place))
        return found


def _spot(file: str, line: int, reason: str, parameters: dict[str, Value]) -> dict[str, Any]:
    return {"file": file, "line": line, "reason": reason, "parameters": {**parameters}}


def _warning(code: str, parameters: dict[str, Value]) -> Problem:
    return Problem(code=code, field=PATH, severity="warning", parameters=parameters)
