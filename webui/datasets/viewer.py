"""What the model sees of one row, ready for the template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from engine.dataset_report import RowView, Token, row_text
from webui.datasets.report import template_words
from webui.reader import language

RAW_SHOWN = 20_000
"""Characters of the raw row at first."""


class Piece(NamedTuple):
    """Neighbouring tokens are not joined: each can be pointed at."""

    text: str
    kind: str
    """CSS classes: trained or not, special, lost behind the cut."""
    title: str
    breaks: int
    """Line breaks that the text ends with: they are drawn as signs, and really made."""


@dataclass(frozen=True)
class ShownRow:
    view: RowView
    raw: str
    raw_cut: bool
    """Is there more of the raw row than is shown?"""
    pieces: list[Piece]
    tokens_left: int
    """Tokens that are not shown."""
    reason: str
    template: str


def shown_row(view: RowView, whole: bool) -> ShownRow:
    raw = view.raw if whole else view.raw[:RAW_SHOWN]
    tokens = view.tokens or ()
    cut = view.cut.position if view.cut else None
    last = view.first_token + len(tokens)
    return ShownRow(
        view=view,
        raw=raw,
        raw_cut=len(raw) < len(view.raw) or view.raw_size > len(view.raw.encode(errors="replace")),
        pieces=[_piece(token, cut) for token in tokens],
        tokens_left=max(0, (view.token_count or 0) - last),
        reason=row_text(view.reason, view.parameters, language()) if view.reason else "",
        template=template_words(view.template),
    )


def _piece(token: Token, cut: int | None) -> Piece:
    kinds = ["trained" if token.trained else "context"]
    if token.special:
        kinds.append("special")
    if cut is not None and token.position >= cut:
        kinds.append("lost")
    text = token.text.replace("\r", "␍").replace("\t", "⇥")
    breaks = text.count("\n")
    # A token in several parts has its text on the first alone; the others are shown as what they are.
    shown = text.replace("\n", "↵") if text else "·"
    part = f" ({token.part})" if token.part else ""
    return Piece(shown, " ".join(kinds), f"{token.position}: {token.id}{part}", breaks)
