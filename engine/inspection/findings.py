"""What a person should know of a dataset, as problems: errors keep it from being used, the rest is worth a look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.dataset_report import DatasetReport, FileReport, Vocabulary
from engine.formats import Broken
from engine.inspection.dropping import parameters, shown
from engine.inspection.request import Request
from engine.problems import Problem, Severity, Value

INPUT = "input"
TOKENIZER = "tokenizer"
SHOWN = 10
"""Lines that are named."""


def problems(report: DatasetReport, of_files: Sequence[Problem]) -> tuple[Problem, ...]:
    """Errors first."""
    found = [*of_files, *_of_format(report), *_of_rows(report), *_of_lengths(report), *_of_vocabulary(report)]
    order = {"error": 0, "warning": 1, "note": 2}
    return tuple(sorted(found, key=lambda problem: order[problem.severity]))


def unreadable(name: str, error: OSError) -> Problem:
    values: dict[str, Value] = {"path": shown(name), "error": error.strerror or type(error).__name__}
    return Problem(code="dataset.unreadable", field=INPUT, fault="site", parameters=values)


def not_a_file(name: str) -> Problem:
    return Problem(code="dataset.not_a_file", field=INPUT, parameters={"path": shown(name)})


def changed(name: str) -> Problem:
    return Problem(code="dataset.changed", field=INPUT, parameters={"path": shown(name)})


def broken_off(request: Request, name: str, last: Broken) -> Problem:
    """What is behind it is lost; a person may choose to go on without it, but has to know."""
    values = {**parameters(last.parameters), "path": shown(name), "line": last.line, "why": last.reason}
    severity: Severity = "error" if request.broken_rows == "refuse" else "warning"
    return Problem(code="dataset.broken_off", field=INPUT, severity=severity, parameters=values)


def _problem(code: str, severity: Severity, **values: Value) -> Problem:
    return Problem(code=code, field=INPUT, severity=severity, parameters=values)


def _of_format(report: DatasetReport) -> Iterator[Problem]:
    for file in report.files:
        if file.format.used is None:
            if file.rows.read and not _broken_at_once(file):
                # A reason may stand on another one, which is the one to tell.
                values = {"why": file.format.why, **file.format.parameters, "path": file.path}
                yield Problem(code="dataset.no_format", field=INPUT, parameters=values)
            return
        if file.format.differs:
            severity: Severity = "warning" if file.rows.kept else "error"
            yield Problem(
                code="dataset.other_format_in",
                field="format",
                severity=severity,
                parameters={"path": file.path, "format": file.format.used, "looks_like": file.format.sniffed},
            )


def _broken_at_once(file: FileReport) -> bool:
    """No row was seen, so that nothing is known of the format; where it breaks off is told already."""
    return file.broken_off and file.rows.read == 1


def _of_rows(report: DatasetReport) -> Iterator[Problem]:
    rows = report.rows
    if not rows.read:
        yield _problem("dataset.no_rows", "error", path=report.asked.input)
    elif not rows.kept:
        yield _problem("dataset.nothing_kept", "error", read=rows.read)
    elif rows.dropped:
        refused = rows.broken and report.asked.broken_rows == "refuse"
        lines = ", ".join(_lines(report))
        if refused:
            yield _problem("dataset.broken_rows_in", "error", read=rows.read, broken=rows.broken, rows=lines)
        else:
            yield _problem("dataset.rows_dropped", "warning", read=rows.read, dropped=rows.dropped, rows=lines)
    if found := report.duplicates.rows:
        first = report.duplicates.examples[0]
        values: dict[str, Value] = {
            "count": found,
            "read": rows.read,
            "first": first.first.row,
            "again": first.again.row,
        }
        yield _problem("dataset.duplicates", "warning", **values)
    if (empty := report.empty_answers).rows:
        yield _problem("dataset.empty_answers_in", "warning", count=empty.rows, row=empty.examples[0].row)


def _lines(report: DatasetReport) -> list[str]:
    rows = sorted(example.row for drop in report.drops for example in drop.examples)
    more = ["…"] if report.rows.dropped > min(len(rows), SHOWN) else []
    return [*map(str, rows[:SHOWN]), *more]


def _of_lengths(report: DatasetReport) -> Iterator[Problem]:
    at = next((at for at in report.seq_lengths if at.asked), None)
    if at is None or report.joined:
        return
    if at.rows_cut or at.rows_dropped:
        values: dict[str, Value] = {"cut": at.rows_cut, "dropped": at.rows_dropped, "lost": at.tokens_lost}
        yield Problem(
            code="dataset.cut",
            field="seq_length",
            severity="warning" if at.rows_dropped else "note",
            parameters={"seq_length": at.seq_length, **values},
        )


def _of_vocabulary(report: DatasetReport) -> Iterator[Problem]:
    known, outside = report.vocabulary, report.outside_vocabulary
    if known is None or known.model_size is None:
        return
    if outside is not None and outside.rows:
        first = outside.examples[0]
        yield Problem(
            code="dataset.outside_vocabulary",
            field=TOKENIZER,
            parameters={
                "count": outside.rows,
                "row": first.row,
                "id": first.parameters["id"],
                "size": known.model_size,
            },
        )
    elif known.outside_count:
        yield _larger(known)


def _larger(known: Vocabulary) -> Problem:
    values: dict[str, Value] = {
        "size": known.size,
        "model_size": known.model_size,
        "count": known.outside_count,
        "tokens": ", ".join(shown(token) for token in known.outside),
    }
    return Problem(code="dataset.larger_vocabulary", field=TOKENIZER, severity="warning", parameters=values)
