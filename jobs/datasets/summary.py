"""The few numbers of a report that lists and forms show, kept in its row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.dataset_report import DatasetReport


class Cut(NamedTuple):
    """What one `seq_length` does to the usable rows; shares are from 0 to 1."""

    seq_length: int
    cut: float
    dropped: float


def summary_of(report: DatasetReport) -> dict[str, Any]:
    usable = max(1, report.rows.kept)
    return {
        "read": report.rows.read,
        "kept": report.rows.kept,
        "dropped": report.rows.read - report.rows.kept,
        "duplicates": report.duplicates.rows,
        "empty_answers": report.empty_answers.rows,
        "usable": report.usable,
        "tokens": report.tokens.total if report.tokens else None,
        "cuts": [[one.seq_length, one.rows_cut / usable, one.rows_dropped / usable] for one in report.seq_lengths],
    }


def cut_at(summary: Mapping[str, Any], seq_length: int | None = None) -> Cut | None:
    """For this length if the report looked at it, else for the longest one that cuts something."""
    cuts = [Cut(*one) for one in summary.get("cuts", ())]
    exact = next((one for one in cuts if one.seq_length == seq_length), None)
    return exact or next((one for one in reversed(cuts) if one.cut or one.dropped), None)
