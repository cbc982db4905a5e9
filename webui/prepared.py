"""What became of the rows of a run's dataset, for its page: `data/report.json` in the reader's words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from pydantic import ValidationError

from engine.dataset_report import row_text
from engine.preparation import DroppedRows, Preparation, Spot
from engine.run_folder import RunFolder
from webui.datasets.report import template_words
from webui.reader import language, sentences


@dataclass(frozen=True)
class Dropping:
    """Rows that were not used for one reason."""

    title: str
    rows: int
    places: str
    """The first few of them."""


@dataclass(frozen=True)
class Prepared:
    told: Preparation
    dropped: int
    dropping: list[Dropping]
    broken_off: list[str]
    template: str


def prepared(folder: RunFolder) -> Prepared | None:
    """None while there is no report, and for one of another release."""
    try:
        told = Preparation.model_validate(json.loads((folder.data / "report.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError):
        return None
    return Prepared(
        told=told,
        dropped=sum(one.rows for one in told.rows_dropped),
        dropping=[_dropping(one) for one in sorted(told.rows_dropped, key=lambda one: -one.rows)],
        broken_off=list(_broken_off(told)),
        template=template_words(told.chat_template),
    )


def _dropping(one: DroppedRows) -> Dropping:
    """The words are those of the first row: of others only the numbers and names in them differ."""
    first = one.examples[0].parameters if one.examples else {}
    places = ", ".join(map(_place, one.examples))
    more = " …" if one.examples and one.rows > len(one.examples) else ""
    return Dropping(row_text(one.reason, first, language()), one.rows, places + more)


def _place(spot: Spot) -> str:
    return f"{spot.file}:{spot.line}" if spot.file else str(spot.line)


def _broken_off(told: Preparation) -> Iterator[str]:
    for spot in told.broken_off:
        words = _("%(file)s breaks off at line %(line)s, and all behind is lost; how many rows that are is not known.")
        yield sentences(
            words % {"file": spot.file, "line": spot.line}, row_text(spot.reason, spot.parameters, language())
        )
    if told.files_broken_off > len(told.broken_off):
        yield _("Files that break off, in all: %(count)s") % {"count": told.files_broken_off}
