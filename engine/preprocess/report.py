"""`data/report.json`: what became of every row, so that nothing is dropped unsaid."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from engine.formats import Broken
from engine.preparation import PATH, Dropped
from engine.preprocess.encoding import Encoded
from engine.problems import Problem
from engine.spec import BrokenRows


@dataclass
class Report:
    """Counts of rows, and the first few that were dropped for each reason. Small, however many rows."""

    read: int = 0
    kept: int = 0
    shortened: int = 0
    tokens: int = 0
    trained: int = 0
    longest: int = 0
    sequences: int = 0
    answers_left_out: int = 0
    template: dict[str, Any] | None = None
    """A TemplateChoice; null for documents."""
    packed_to: int | None = None
    """Tokens of a sequence that several samples share; null if each has its own."""
    broken_rows: BrokenRows = "refuse"
    dropped: Dropped = field(default_factory=Dropped)

    def add(self, rows: Encoded) -> None:
        self.read += rows.read
        self.kept += len(rows.lengths)
        self.shortened += rows.shortened
        self.tokens += len(rows.ids)
        self.trained += rows.trained
        self.longest = max(self.longest, int(rows.lengths.max(initial=0)))
        self.answers_left_out += rows.answers_left_out
        for drop in rows.dropped:
            if isinstance(drop, Broken):
                self.dropped.add_broken(drop)
            else:
                self.dropped.add(drop.reason, drop.row.file, drop.row.line, drop.parameters)

    def state(self) -> dict[str, Any]:
        """To be written down, and read by `restored`."""
        return asdict(self)

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Report:
        return cls(**(state | {"dropped": Dropped(**state["dropped"])}))

    def to_json(self, samples: int, seq_length: int) -> dict[str, Any]:
        """The fields of an `engine.preparation.Preparation`."""
        return {
            "rows_read": self.read,
            "rows_kept": self.kept,
            "rows_shortened": self.shortened,
            **self.dropped.to_json(),
            "broken_rows": self.broken_rows,
            "samples": samples,
            "seq_length": seq_length,
            "tokens": self.tokens,
            "trained_tokens": self.trained,
            "longest_sample": self.longest,
            "chat_template": self.template,
            "answers_left_out": self.answers_left_out,
            "packing": self._packing(),
        }

    def _packing(self) -> dict[str, Any] | None:
        if self.packed_to is None:
            return None
        places = self.sequences * self.packed_to
        return {
            "sequences": self.sequences,
            "padding_share": round((places - self.tokens) / places, 6) if places else 0.0,
        }

    def problems(self, seq_length: int, path: str) -> list[Problem]:
        """What a person should know of it: warnings when rows were dropped, a note when they were only shortened."""
        unlearnt = self.dropped.rows - self.dropped.broken
        found = self.dropped.problems(self.read, path)
        if not unlearnt and not self.shortened:
            return found
        code = "preprocess.rows_dropped" if unlearnt else "preprocess.rows_shortened"
        told = Problem(
            code=code,
            field=PATH if unlearnt else "train.seq_length",
            severity="warning" if unlearnt else "note",
            parameters={
                "read": self.read,
                "kept": self.kept,
                "shortened": self.shortened,
                "dropped": unlearnt,
                "seq_length": seq_length,
                "lines": self.dropped.places(),
            },
        )
        return [*found, told]

    def sentence(self) -> str:
        return (
            f"rows read: {self.read}, kept: {self.kept}, of them shortened: {self.shortened}, {self.dropped.sentence()}"
        )

    def told(self) -> str:
        """For the log: the sentence behind a line about the template, where there is one."""
        if self.template is None:
            return self.sentence()
        notes = ", ".join(self.template["notes"]) or "as it is"
        left_out = f"; answers that it does not write: {self.answers_left_out}" if self.answers_left_out else ""
        name, source = self.template["name"], self.template["source"]
        return f"chat template: {name} ({source}); {notes}{left_out}\n {self.sentence()}"
