"""Views of single rows: what the model sees of one. Made by the engine in a process of its own, kept as files."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from engine.dataset_report import RowView
from engine.problems import Problem
from jobs.datasets.commands import request
from jobs.datasets.inspections import foreign_problem, problems_of, slots
from jobs.datasets.process import TIMED_OUT, answer, is_alive, launch, refuse, returncode
from jobs.datasets.versions import stamp
from jobs.messages import send_view_row
from jobs.models import Inspection

SECONDS = 600.0
SLOTS = 4
TOKENS = 2000
"""Tokens that a page shows of a row at first; a longer one is shown whole when that is wanted."""
ALL_TOKENS = 50_000
RESEND_SECONDS = 5.0
MOST_WAITING = 12
"""Processes of one report, those that wait for a slot among them."""
KEPT = 500
"""Views that are kept beside a report."""


class Seen(NamedTuple):
    """view: None while it is being made, and where it cannot be; then `reason` or the problems say why."""

    view: RowView | None
    reason: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def ended(self) -> bool:
        return self.view is not None or bool(self.reason)


def see(found: Inspection, row: int, tokens: int = TOKENS) -> Seen:
    """The view of a row as far as it is there; asked for if it is not."""
    folder = _folder(found, row, tokens)
    code = returncode(folder)
    if code is not None:
        return _made(folder, code)
    changed = stamp(found.version.dataset.path)
    if changed is None or changed.value != found.version.stamp:
        return Seen(None, "changed")
    if _is_due(folder):
        send_view_row(found.pk, row, tokens)
    return Seen(None)


def ask_ahead(found: Inspection, *rows: int) -> None:
    """Have the neighbours made while somebody reads."""
    for row in rows:
        folder = _folder(found, row, TOKENS)
        if row >= 1 and returncode(folder) is None and _is_due(folder):
            send_view_row(found.pk, row, TOKENS)


def start(inspection_id: int, row: int, tokens: int) -> bool:
    """Begin to make a view, in a process of its own. For the worker."""
    found = Inspection.objects.select_related("version__dataset__team").filter(pk=inspection_id).first()
    if found is None or row < 1:
        return False
    folder = _folder(found, row, tokens)
    if _forget_old(folder.parent) >= MOST_WAITING:
        return False  # the page asks again
    foreign = foreign_problem(found)
    if foreign is not None:
        refuse(folder, foreign)
        return False
    question = request(found.version.dataset.path, found.asked, row=row, most_tokens=tokens)
    return launch(folder, question, seconds=SECONDS, slots=slots("row", SLOTS))


def _folder(found: Inspection, row: int, tokens: int) -> Path:
    return found.folder / "rows" / f"{row}.{tokens}"


def _is_due(folder: Path) -> bool:
    """Whether to ask for it: once, and again when nothing has come of it. Marks that it was."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o750)
    mark = folder / "asked"
    try:
        if is_alive(folder) or time.time() - mark.stat().st_mtime < RESEND_SECONDS:
            return False
    except FileNotFoundError:
        pass
    mark.touch()
    return True


def _made(folder: Path, code: str) -> Seen:
    text = answer(folder)
    try:
        if text is not None:
            return Seen(RowView.model_validate_json(text))
    except ValidationError:
        pass
    return Seen(None, TIMED_OUT if code == TIMED_OUT else "failed", tuple(problems_of(folder)))


def _forget_old(folder: Path) -> int:
    """Beyond so many, those that were made first; returns how many are being made."""
    views = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime) if folder.is_dir() else []
    for view in views[:-KEPT]:
        if not is_alive(view):
            shutil.rmtree(view, ignore_errors=True)
    return sum(returncode(view) is None and is_alive(view) for view in views[-KEPT:])
