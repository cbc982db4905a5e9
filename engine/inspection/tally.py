"""Everything that is counted over the rows of a dataset, in memory that does not grow with them."""

from __future__ import annotations

import json

from engine.dataset_report import DatasetReport, Place, Rows, Trained
from engine.formats import Broken, Message, Sample
from engine.inspection.at_length import AtLengths
from engine.inspection.dropping import EXAMPLES, DropList, Drops, Examples, parameters
from engine.inspection.duplicates import DuplicateFinder
from engine.inspection.lengths import LengthCounts
from engine.inspection.rows import Encoded, Refused
from engine.preparation import FILLED, NOTHING
from engine.preprocess.chunking import PackedCount
from engine.problems import Value

ROLE_ORDER = ("row.role_order", "row.no_answer", "row.unknown_role", "row.empty_turn")


class FileTally:
    """Of one file."""

    def __init__(self) -> None:
        self.read = self.kept = self.shortened = self.broken = 0
        self.drops = Drops()

    def rows(self) -> Rows:
        return Rows(
            read=self.read, kept=self.kept, shortened=self.shortened, dropped=self.drops.rows, broken=self.broken
        )


class Tally:
    """Of the whole dataset. Each row is told of once, in order: `broken`, or `plain`, or `encoded`."""

    def __init__(
        self, seq_length: int | None, model_size: int | None, listed: DropList, found: DuplicateFinder
    ) -> None:
        self._seq_length, self._model_size = seq_length, model_size
        self._listed, self._duplicates = listed, found
        self.all, self.file = FileTally(), FileTally()
        self.characters, self.tokens = LengthCounts(), LengthCounts()
        self._at = AtLengths(seq_length)
        self._trained = self._texts = 0
        self._packed = None if seq_length is None else PackedCount(seq_length)
        self._role_order, self._empty_answers, self.outside = Examples(), Examples(), Examples()

    def begin_file(self) -> None:
        self.file = FileTally()

    def broken(self, row: Broken, place: Place) -> None:
        self._read()
        self._pack(row)
        self._drop(row.reason, place, parameters(row.parameters), broken=True)

    def plain(self, sample: Sample, place: Place) -> None:
        """A row without a tokenizer."""
        self._read()
        self._look(sample, place)
        self._keep()

    def encoded(self, sample: Sample, row: Encoded | Refused, place: Place) -> None:
        self._read()
        self._pack(sample, row)
        if isinstance(row, Refused):
            self._drop(row.reason, place, {})
            return
        size, is_text = len(row.ids), sample.text is not None
        if not is_text and not row.trained:
            self._drop(NOTHING, place, {})
            return
        self._look(sample, place)
        self._count(row, place, is_text=is_text)
        limit = self._seq_length
        if limit is None or size <= limit or is_text:
            self._keep()
        elif row.learnt[:limit].any():
            self._keep(shortened=True)
        else:
            self._drop(FILLED, place, {"tokens": size, "seq_length": limit})

    def _count(self, row: Encoded, place: Place, *, is_text: bool) -> None:
        self.tokens.add([len(row.ids)])
        self._trained += row.trained
        self._texts += is_text
        self._at.add(row.learnt)
        if self._model_size is not None and len(row.ids) and int(row.ids.max()) >= self._model_size:
            wrong = row.ids[row.ids >= self._model_size]
            self.outside.add(place, {"tokens": len(wrong), "id": int(wrong[0])})

    def _look(self, sample: Sample, place: Place) -> None:
        self.characters.add([_characters(sample)])
        self._duplicates.add(_content(sample), place)
        if any(_is_empty_answer(message) for message in sample.messages):
            self._empty_answers.add(place)

    def _read(self) -> None:
        self.all.read += 1
        self.file.read += 1

    def _keep(self, *, shortened: bool = False) -> None:
        for tally in (self.all, self.file):
            tally.kept += 1
            tally.shortened += shortened

    def _pack(self, row: Sample | Broken, encoded: Encoded | Refused | None = None) -> None:
        if self._packed is None or self._seq_length is None:
            return
        length = 0
        if isinstance(encoded, Encoded) and encoded.learnt[: self._seq_length].any():
            length = min(len(encoded.ids), self._seq_length)
        self._packed.add(row, length)

    def _drop(self, reason: str, place: Place, values: dict[str, Value], *, broken: bool = False) -> None:
        for tally in (self.all, self.file):
            tally.drops.add(reason, place, values)
            tally.broken += broken
        self._listed.add(reason, place, values)
        if reason in ROLE_ORDER:
            self._role_order.add(place, values)

    def fill(self, report: DatasetReport, *, tokenized: bool) -> DatasetReport:
        """The report with everything that was counted."""
        counted: dict[str, object] = {
            "rows": self.all.rows(),
            "drops": self.all.drops.listed(),
            "duplicates": self._duplicates.found(EXAMPLES),
            "empty_answers": self._empty_answers.finding(),
            "role_order": self._role_order.finding(),
            "characters": self.characters.summary("characters"),
        }
        if tokenized:
            counted |= self._tokenized()
        return report.model_copy(update=counted)

    def _tokenized(self) -> dict[str, object]:
        share = self._trained / self.tokens.total if self.tokens.total else 0.0
        packed = None if self._packed is None else self._packed.sequences
        return {
            "outside_vocabulary": None if self._model_size is None else self.outside.finding(),
            "tokens": self.tokens.summary("tokens"),
            "trained": Trained(tokens=self._trained, share=round(share, 6)),
            "joined": self._texts > 0,
            "seq_lengths": tuple(self._at.joined(self.tokens) if self._texts else self._at.rows(self.tokens, packed)),
        }


def _characters(sample: Sample) -> int:
    if sample.text is not None:
        return len(sample.text)
    return sum(len(message.content) + len(message.reasoning) for message in sample.messages)


def _is_empty_answer(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls and not message.content.strip()


def _content(sample: Sample) -> bytes:
    """What the model learns of a row, wherever it stands: other keys of the row do not count."""
    if sample.text is not None:
        return b"t" + sample.text.encode("utf-8", "surrogatepass")
    parts = [sample.tools]
    for message in sample.messages:
        calls = [[call.name, call.arguments] for call in message.tool_calls]
        written = json.dumps(calls, sort_keys=True, default=str) if calls else ""
        parts += (message.role, message.content, message.reasoning, message.name, written)
    return "\x00".join(parts).encode("utf-8", "surrogatepass")  # no text holds a NUL: formats refuse it
