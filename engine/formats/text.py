"""Plain text for pre-training: a document a line (.txt), or rows with a `text` key (.json, .jsonl).

One document a line is what the field does with .txt files (Hugging Face datasets, LLaMA-Factory);
blank lines are passed over. A document of several lines belongs into JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.formats import fields
from engine.formats.records import Record, lines, read_with
from engine.formats.sample import Broken, Sample

SUFFIXES = (".txt", ".json", ".jsonl")


def sniff(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("text"), str)


def read(path: Path) -> Iterator[Sample | Broken]:
    if path.suffix.lower() == ".txt":
        return _documents(path)
    return read_with(path, fields.guarded(_sample))


def _documents(path: Path) -> Iterator[Sample | Broken]:
    for item in lines(path):
        yield item if isinstance(item, Broken) else Sample(item[0], text=item[1].rstrip("\r\n"))


def _sample(record: Record) -> Sample:
    value = fields.string(fields.mapping(record.value), "text")
    if not value.strip():
        raise fields.RowError("row.empty", key="text")
    return Sample(record.line, text=value)
