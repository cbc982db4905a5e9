"""Plain text for pre-training: a document a line (.txt), or rows with a `text` key (json, jsonl, csv, parquet).

One document a line is what the field does with .txt files (Hugging Face datasets, LLaMA-Factory);
blank lines are passed over. A document of several lines belongs into JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.formats import fields
from engine.formats.records import Record
from engine.formats.sample import Sample
from engine.spec import ColumnNames, TagNames

SUFFIXES = (".txt", ".json", ".jsonl", ".csv", ".parquet")
COLUMNS = ("text",)
TAGS: tuple[str, ...] = ()


def sniff(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("text"), str)


def reader(columns: ColumnNames, tags: TagNames) -> Callable[[Record], Sample]:
    named = columns.text or "text"

    def sample(record: Record) -> Sample:
        key = "text" if record.file.lower().endswith(".txt") and "text" in record.value else named
        value = fields.string(fields.mapping(record.value), key)
        if not value.strip():
            raise fields.RowError("row.empty", key=key)
        return Sample(record.line, text=value, file=record.file)

    return sample
