"""A report in the reader's words: what the page of a dataset shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from engine.dataset_report import (
    AtLength,
    DatasetReport,
    Drop,
    FileReport,
    Finding,
    FormatChoice,
    Lengths,
    Place,
    TemplateChoice,
    row_text,
)
from engine.plan import Reason
from engine.problem_texts import message, reason, remedy
from webui.fields import FORMAT_LABELS
from webui.reader import full_stop, language, sentences

BARS_SHOWN = 60


class Spot(NamedTuple):
    """A row to look at, with what is said of it."""

    row: int
    line: int
    file: str
    words: str


class Group(NamedTuple):
    """Rows of which the same is to be said."""

    title: str
    rows: int
    spots: list[Spot]


class FileLine(NamedTuple):
    path: str
    size: int
    format: str
    why: str
    read: int
    kept: int
    shortened: int
    dropped: int
    broken_off: bool


@dataclass(frozen=True)
class Shown:
    """The report, ready for the template."""

    report: DatasetReport
    problems: list[tuple[str, str]]
    """(severity, words)."""
    files: list[FileLine]
    drops: list[Group]
    remarks: list[Group]
    lengths: Lengths
    bars: dict[str, Any]
    at_lengths: list[AtLength]
    template: str
    usable_rows: int


def shown(report: DatasetReport) -> Shown:
    lengths = report.tokens or report.characters
    return Shown(
        report=report,
        problems=[
            (one.severity, sentences(message(one, language()), remedy(one, language()))) for one in report.problems
        ],
        files=[_file_line(one) for one in report.files],
        drops=[_drop(one, report.files) for one in report.drops],
        remarks=list(_remarks(report)),
        lengths=lengths,
        bars={
            "starts": [one.start for one in lengths.histogram],
            "ends": [one.end for one in lengths.histogram],
            "rows": [one.rows for one in lengths.histogram],
        },
        at_lengths=list(report.seq_lengths),
        template=template_words(report.template),
        usable_rows=report.rows.kept,
    )


def template_words(choice: TemplateChoice | None) -> str:
    """Which chat template is used, where it comes from, and what it does not take as it is."""
    if choice is None:
        return ""
    words = {
        "tokenizer": _("the tokenizer's own"),
        "asked": _("%(name)s, as asked"),
        "family": _("%(name)s, ours for the model's family, since the tokenizer brings none"),
    }
    said = words[choice.source] % {"name": choice.name}
    notes = [row_text(code, {}, language()) for code in choice.notes]
    return sentences(f"{said}{full_stop()}", *notes) if notes else said


def format_words(choice: FormatChoice) -> tuple[str, str]:
    """The format that was used, and why."""
    used = str(FORMAT_LABELS.get(choice.used or "", choice.used or _("none that is known")))
    why = reason(Reason(decision="format", code=choice.why, parameters=choice.parameters), language())
    parts = [why] if choice.why else []
    if choice.differs:
        looks = str(FORMAT_LABELS.get(choice.sniffed or "", choice.sniffed or ""))
        words = (
            _("As you asked; it looks like %(format)s.")
            if choice.asked
            else _("Unlike others, it looks like %(format)s.")
        )
        parts.insert(0, words % {"format": looks})
    names = ", ".join(f"{name} = {value}" for name, value in (*choice.columns.items(), *choice.tags.items()))
    if names:
        parts.append(_("Other names: %(names)s.") % {"names": names})
    return used, sentences(*parts)


def _file_line(file: FileReport) -> FileLine:
    rows = file.rows
    return FileLine(
        file.path,
        file.size,
        *format_words(file.format),
        rows.read,
        rows.kept,
        rows.shortened,
        rows.dropped,
        file.broken_off,
    )


def _drop(drop: Drop, files: Sequence[FileReport]) -> Group:
    spots = [_spot(one, files, row_text(drop.reason, one.parameters, language())) for one in drop.examples]
    return Group(spots[0].words if len(spots) == 1 else _title(drop), drop.rows, spots)


def _title(drop: Drop) -> str:
    """What the examples have in common: a reason whose text has no parameters, else its first example's."""
    return row_text(drop.reason, drop.examples[0].parameters, language()) if drop.examples else drop.reason


def _remarks(report: DatasetReport) -> Iterator[Group]:
    files = report.files
    if report.duplicates.rows:
        spots = [
            _spot(one.again, files, _("the same as row %(row)s") % {"row": one.first.row})
            for one in report.duplicates.examples
        ]
        yield Group(_("Rows that repeat an earlier one"), report.duplicates.rows, spots)
    found: tuple[tuple[str, Finding | None], ...] = (
        (_("Empty answers"), report.empty_answers),
        (_("Turns in a wrong order"), report.role_order),
        (_("Rows with tokens that the model does not have"), report.outside_vocabulary),
    )
    for title, finding in found:
        if finding is not None and finding.rows:
            yield Group(title, finding.rows, [_spot(one, files, "") for one in finding.examples])


def _spot(place: Place, files: Sequence[FileReport], words: str) -> Spot:
    file = files[place.file].path if len(files) > 1 and place.file < len(files) else ""
    return Spot(place.row, place.line, file, words)
