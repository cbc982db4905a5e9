"""Makes a set from the first row to the last, in order, and can be killed at any moment.

`journal.json` says how far the files go and what the report said there. It is written when everything before it is
on the disk; whoever goes on cuts the files off there and passes over the rows that are in them. Where a chunk or a
window of packing ends depends on the rows alone, so that the same bytes come out however often it was killed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from engine.dataset_files import KEYS
from engine.formats import Broken, Sample
from engine.preprocess.chunking import chunks
from engine.preprocess.encoding import Encoded
from engine.preprocess.pool import in_order
from engine.preprocess.progress import Progress
from engine.preprocess.report import Report
from engine.preprocess.shaping import Packed, Single, Whole
from engine.preprocess.writing import Mark, TokenFiles, is_there
from engine.run_folder import read_json, write_atomic
from engine.spec import TrainStage

SAVE_SECONDS = 3.0
JOURNAL = "journal.json"

Encode = Callable[[list[Sample | Broken]], Encoded]


class Building:
    """A set in the making, in its own folder."""

    def __init__(self, folder: Path, stage: TrainStage, *, pack_to: int | None, pad_token: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._journal = folder / JOURNAL
        state = _state(self._journal)
        mark = Mark(*state["mark"]) if state else Mark()
        if not is_there(folder, KEYS[stage], mark):
            state, mark = {}, Mark()
        self.report = Report.restored(state["report"]) if state else Report()
        self._files = TokenFiles(folder, KEYS[stage], mark)
        self._shape = _shape(self._files, stage, pack_to, pad_token)
        self._saved = time.monotonic()

    def run(self, samples: Iterator[Sample | Broken], encode: Encode, workers: int, progress: Progress) -> Report:
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


def _state(journal: Path) -> dict[str, Any]:
    """Empty where there is none that can be read: then all is done from the begin."""
    try:
        found = read_json(journal)
    except ValueError:
        found = None
    return found if isinstance(found, dict) and {"mark", "report"} <= found.keys() else {}


def _shape(files: TokenFiles, stage: TrainStage, pack_to: int | None, pad_token: int) -> Whole | Packed:
    if stage == "pretrain":
        return Whole(files)
    return Single(files) if pack_to is None else Packed(files, pack_to, pad_token)
