"""`python -m engine.preprocess STAGE_JSON`: the stage `preprocess`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from engine import formats
from engine.events import Emitter
from engine.failures import Failure
from engine.formats import Broken, DataFile, Sample
from engine.model_folder import read_json_object
from engine.preprocess import chat, documents, parquet, store
from engine.preprocess.report import Report
from engine.preprocess.store import Ids, Row
from engine.problems import Value
from engine.run_folder import write_atomic
from engine.spec import TrainOptions
from engine.stage_file import StageFile
from engine.stage_process import run_stage
from engine.weights.load import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BATCH = 1000
"""Rows encoded at once: the tokenizer's threads are busy, and memory stays small."""


def main(stage: StageFile, emitter: Emitter) -> None:
    train = stage.spec.train
    emitter.emit("progress", done=0, total=None, unit="rows", seconds_left=None)
    tokenizer = load_tokenizer(stage.spec.model_path, stage.roots)
    if not tokenizer.is_fast:
        raise Failure("weights.slow_tokenizer", "model_path", path=stage.spec.model_path)
    report = Report()
    files = formats.find(train.dataset.path, stage.roots)
    batches = _batches(files, train, report, emitter)
    if train.stage == "sft":
        rows = _conversations(tokenizer, batches, train, report, model_type(Path(stage.spec.model_path)))
    else:
        rows = _documents(tokenizer, batches, train, report)
    print(f" {report.sentence()}; samples: {len(rows)}", flush=True)
    if report.shortened or report.dropped:
        problem = report.problem(train.seq_length)
        emitter.emit("problem", problem=problem.model_dump(mode="json"))
    if not rows:
        raise Failure("preprocess.no_samples", "train.dataset.path", path=train.dataset.path, report=report.sentence())
    stage.folder.data.mkdir(parents=True, exist_ok=True)
    store.write(stage.folder.data / "tokens.safetensors", rows)
    text = json.dumps(report.to_json(rows, train.seq_length), indent=2)
    write_atomic(stage.folder.data / "report.json", text + "\n")
    emitter.emit("progress", done=report.read, total=report.read, unit="rows", seconds_left=0)


def model_type(folder: Path) -> str:
    """Of config.json; empty if there is none."""
    return str((read_json_object(folder / "config.json") or {}).get("model_type") or "")


def _batches(
    files: tuple[DataFile, ...], train: TrainOptions, report: Report, emitter: Emitter
) -> Iterator[list[Sample]]:
    """Samples of the dataset, `BATCH` at a time. Raises Failure at a broken row: the data is not what was meant."""
    samples = _samples(files, train, report)
    while batch := list(islice(samples, BATCH)):
        yield batch
        emitter.emit("progress", done=report.read, total=None, unit="rows", seconds_left=None)


def _samples(files: tuple[DataFile, ...], train: TrainOptions, report: Report) -> Iterator[Sample]:
    path = train.dataset.path
    try:
        for item in formats.read(train.dataset, files, parquet.rows):
            if isinstance(item, Broken):
                where: dict[str, Value] = {"path": str(path), "line": item.line, "why": item.reason}
                raise Failure("preprocess.broken_row", "train.dataset.path", **(item.parameters | where))
            report.read += 1
            yield item
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("preprocess.unreadable", "train.dataset.path", path=str(path), reason=reason) from error


def _conversations(
    tokenizer: PreTrainedTokenizerBase, batches: Iterator[list[Sample]], train: TrainOptions, report: Report, kind: str
) -> list[Row]:
    """One sample for each row, cut to `seq_length` where it is longer."""
    chosen = chat.Chat(tokenizer, train.dataset.template, train.dataset.train_on, kind)
    print(f" chat template: {chosen.template.name}; {', '.join(chosen.notes) or 'as it is'}", flush=True)
    kept = []
    for batch in batches:
        usable = list(_rendered(chosen, batch, report))
        encoded = chosen.encode([rendered for _, rendered in usable])
        for (line, _), (ids, labels) in zip(usable, encoded, strict=True):
            row = (ids[: train.seq_length], labels[: train.seq_length])
            if not store.trained_tokens(row[1]):
                report.drop("question_fills_seq_length", line)
                continue
            report.kept += 1
            report.shortened += len(ids) > train.seq_length
            kept.append(row)
    return kept


def _rendered(chosen: chat.Chat, batch: list[Sample], report: Report) -> Iterator[tuple[int, chat.Rendered]]:
    for sample in batch:
        try:
            yield sample.line, chosen.render(sample)
        except chat.Unusable as unusable:
            report.drop(str(unusable), sample.line)


def _documents(
    tokenizer: PreTrainedTokenizerBase, batches: Iterator[list[Sample]], train: TrainOptions, report: Report
) -> list[Row]:
    if tokenizer.eos_token_id is None:
        raise Failure("preprocess.no_end_token", "model_path", path=str(tokenizer.name_or_path))
    encoded: list[Ids] = []
    for batch in batches:
        report.kept += len(batch)
        encoded += chat.encode_texts(tokenizer, [documents.document(sample) for sample in batch])
    return documents.samples_of(encoded, tokenizer.eos_token_id, train.seq_length)


if __name__ == "__main__":
    sys.exit(run_stage(main, sys.argv[1:]))
