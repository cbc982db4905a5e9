"""The pass over all rows that makes the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine import formats
from engine.dataset_report import DatasetReport, FileReport, FormatChoice, Place
from engine.disk import tells_of_full_disk
from engine.formats import Broken, DataFile, Sample
from engine.formats.contents import digest_of
from engine.formats.fields import guarded
from engine.formats.records import Record
from engine.inspection import findings, row_index
from engine.inspection.choosing import Chosen, choose
from engine.inspection.dropping import DropList, shown
from engine.inspection.duplicates import DuplicateFinder
from engine.inspection.request import Request
from engine.inspection.row_index import RowIndex
from engine.inspection.tally import Tally
from engine.preprocess.encoder import Differs
from engine.problems import Problem

if TYPE_CHECKING:
    from engine.inspection.rendering import Rendering

BATCH_ROWS = 1000
BATCH_CHARACTERS = 4_000_000
"""What is tokenized at once: enough to keep every core busy, little enough for any memory."""

Progress = Callable[[int, int, int], None]
"""Rows, bytes read, bytes in all."""
_Row = tuple[Place, Sample | Broken]


def inspect(request: Request, progress: Progress) -> DatasetReport:
    """Read every row. What is wrong with the dataset is in the report; raises Failure where there is nothing to
    report on, and OSError where its own files cannot be written."""
    files = formats.find(request.input, request.roots, findings.INPUT)
    rendering = opened(request)
    try:
        return _inspected(request, files, rendering, progress)
    except Differs:
        assert rendering is not None
        rendering.use_exact()
        return _inspected(request, files, rendering, progress)


def _inspected(
    request: Request, files: Sequence[DataFile], rendering: Rendering | None, progress: Progress
) -> DatasetReport:
    began = time.monotonic()
    vocabulary = None if rendering is None else rendering.vocabulary()
    with DropList(request.drops) as listed, DuplicateFinder() as duplicates:
        tally = Tally(request.seq_length, None if vocabulary is None else vocabulary.model_size, listed, duplicates)
        reader = _Pass(request, files, rendering, tally, progress)
        reports = list(reader.all())
        report = DatasetReport(
            asked=request.asked,
            usable=False,
            files=tuple(reports),
            drops_file=request.drops and shown(request.drops.name),
            vocabulary=vocabulary,
            template=rendering and rendering.template,
            digest=_digest(files) if request.digest else "",
        )
        report = tally.fill(report, tokenized=rendering is not None)
    problems = findings.problems(report, reader.problems)
    return report.model_copy(
        update={
            "problems": problems,
            "usable": not any(problem.severity == "error" for problem in problems),
            "seconds": round(time.monotonic() - began, 3),
        }
    )


def opened(request: Request, *, exact: bool = False) -> Rendering | None:
    """None where no tokenizer was named. Raises Failure."""
    if request.tokenizer is None:
        return None
    from engine.inspection.rendering import Rendering  # transformers takes a second to import

    return Rendering(request.tokenizer, request.template, request.train_on, request.roots, exact=exact)


def read_as(chosen: Chosen) -> Callable[[Record], Sample | Broken]:
    """What makes a sample of a record; without a format, none is one."""
    if chosen.format is None:
        return lambda record: Broken(record.line, "row.no_format", {}, record.file)
    return guarded(formats.get(chosen.format).reader(chosen.columns, chosen.tags))


@dataclass
class _Pass:
    request: Request
    files: Sequence[DataFile]
    rendering: Rendering | None
    tally: Tally
    progress: Progress
    problems: list[Problem] = field(default_factory=list)
    """Of files, not of rows."""
    _before: int = 0
    _size: int = 0

    def __post_init__(self) -> None:
        self._chosen = choose(self.files, self.request)
        self._read = read_as(self._chosen)

    def all(self) -> Iterator[FileReport]:
        sizes = [_size(file) for file in self.files]
        for number, (file, choice) in enumerate(zip(self.files, self._chosen.files, strict=True)):
            self._before, self._size = sum(sizes[:number]), sum(sizes)
            first = self.tally.all.read + 1
            self.tally.begin_file()
            problem = self._file(number, first, file, choice)
            if problem is not None:
                self.problems.append(problem)
            yield FileReport(
                path=shown(file.name),
                size=sizes[number],
                first_row=first,
                format=choice,
                rows=self.tally.file.rows(),
                broken_off=problem is not None,
                drops=self.tally.file.drops.listed(),
            )

    def _file(self, number: int, first: int, file: DataFile, choice: FormatChoice) -> Problem | None:
        """Read a file. What is wrong with it as a whole."""
        index = RowIndex()
        try:
            facts = _facts(file)
            if not file.path.is_file():  # a pipe would wait for ever
                return findings.not_a_file(file.name)
            for batch in self._batches(number, first, file, choice, index):
                self._take(batch)
            if facts != _facts(file):
                return findings.changed(file.name)
        except OSError as error:
            if tells_of_full_disk(error):  # ours
                raise
            return findings.unreadable(file.name, error)
        row_index.save(self.request.cache, file, choice.used or "", index)
        last = index.last
        return findings.broken_off(self.request, file.name, last) if last is not None and last.ends else None

    def _batches(
        self, number: int, first: int, file: DataFile, choice: FormatChoice, index: RowIndex
    ) -> Iterator[list[_Row]]:
        """Rows with their places, so many that it is worth tokenizing them at once."""
        batch: list[_Row] = []
        characters = 0
        for count, record in enumerate(row_index.indexed(file, choice.used or "", index)):
            item = record if isinstance(record, Broken) else self._read(record)
            batch.append((Place(file=number, row=first + count, line=item.line), item))
            characters += _length(item)
            if len(batch) >= BATCH_ROWS or characters > BATCH_CHARACTERS:
                yield batch
                batch, characters = [], 0
                self.progress(self.tally.all.read, self._before + index.place(), self._size)
        yield batch

    def _take(self, batch: list[_Row]) -> None:
        if self.rendering is None:
            encoded: Iterator[Any] = iter(())
        else:
            encoded = self.rendering.encode([item for _, item in batch if isinstance(item, Sample)])
        for place, item in batch:
            if isinstance(item, Broken):
                self.tally.broken(item, place)
            elif self.rendering is None:
                self.tally.plain(item, place)
            else:
                self.tally.encoded(item, next(encoded), place)


def _digest(files: Sequence[DataFile]) -> str:
    """Empty where a file cannot be read, which is among the problems."""
    try:
        return digest_of(files)
    except OSError:
        return ""


def _length(item: Sample | Broken) -> int:
    if isinstance(item, Broken):
        return 0
    return len(item.text or "") + sum(len(message.content) + len(message.reasoning) for message in item.messages)


def _facts(file: DataFile) -> tuple[int, int]:
    stat = file.path.stat()
    return stat.st_size, stat.st_mtime_ns


def _size(file: DataFile) -> int:
    try:
        return _facts(file)[0]
    except OSError:  # said when it is read
        return 0
