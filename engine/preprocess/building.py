"""Makes a set from the first row to the last, in order, and can be killed at any moment.

`journal.json` says how far the files go and what the report said there. It is written when everything before it is
on the disk; whoever goes on cuts the files off there and passes over the rows that are in them. Where a chunk or a
window of packing ends depends on the rows alone, so that the same bytes come out however often it was killed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from engine.dataset_files import KEYS
from engine.formats import Sample
from engine.preprocess.encoding import Encoded
from engine.preprocess.pool import in_order
from engine.preprocess.progress import Progress
from engine.preprocess.report import Report
from engine.preprocess.shaping import Packed, Single, Whole
from engine.preprocess.writing import Mark, TokenFiles, is_there
from engine.run_folder import read_json, write_atomic
from engine.spec import TrainStage

CHUNK_ROWS, CHUNK_CHARACTERS = 500, 1 << 21
"""A chunk ends with whichever is reached first: memory is bounded by text, not by rows."""
SAVE_SECONDS = 3.0
JOURNAL = "journal.json"

Encode = Callable[[list[Sample]], Encoded]


class Building:
    """A set in the making, in its own folder."""

    def __init__(self, folder: Path, stage: TrainStage, *, pack_to: int | None, pad_token: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._journal = folder / JOURNAL
        state: dict[str, Any] = read_json(self._journal) or {}
        mark = Mark(*state["mark"]) if state else Mark()
        if not is_there(folder, KEYS[stage], mark):
            state, mark = {}, Mark()
        self.report = Report.restored(state["report"]) if state else Report()
        self._files = TokenFiles(folder, KEYS[stage], mark)
        self._shape = _shape(self._files, stage, pack_to, pad_token)
        self._saved = time.monotonic()

    def run(self, samples: Iterator[Sample], encode: Encode, workers: int, progress: Progress) -> Report:
        """Everything that is not done yet. The report counts what an earlier attempt has done, too."""
        for _ in islice(samples, self.report.read):
            pass
        progress.begin(self.report.read)
        for rows in in_order(encode, chunks(samples), workers):
            self.report.add(rows)
            self._shape.add(rows)
            progress.tell(self.report.read)
            if self._shape.idle and time.monotonic() - self._saved >= SAVE_SECONDS:
                self._save()
        self._shape.flush()
        self._files.finish()
        self.report.sequences = self._files.mark.sequences
        return self.report

    def _save(self) -> None:
        mark = self._files.sync()
        state = {"mark": [mark.sequences, mark.tokens], "report": self.report.state()}
        write_atomic(self._journal, json.dumps(state))
        self._saved = time.monotonic()


def _shape(files: TokenFiles, stage: TrainStage, pack_to: int | None, pad_token: int) -> Whole | Packed:
    if stage == "pretrain":
        return Whole(files)
    return Single(files) if pack_to is None else Packed(files, pack_to, pad_token)


def chunks(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    """Rows that are worked on together."""
    chunk: list[Sample] = []
    characters = 0
    for sample in samples:
        chunk.append(sample)
        characters += len(sample.text or "") + sum(len(message.content) for message in sample.messages)
        if len(chunk) >= CHUNK_ROWS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
