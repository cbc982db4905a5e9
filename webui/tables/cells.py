"""A cell of a table as text, there and back. What comes from a file is taken for what it is, or refused in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.db import models
from django.utils.translation import gettext as _

from jobs.models.table_rules import CONTROL, unseen

TRUE, FALSE = ("1", "true", "yes"), ("0", "false", "no", "")
EMPTY = ("", "-")
"""The printed tables spell a missing number "-"."""
_BEGINS = "=+-@\t\r\n＝＋－＠"
"""A spreadsheet takes what begins so for a formula; an eastern one the wide signs, too."""
_FORMULA = re.compile(f"'*[{re.escape(_BEGINS)}]")
_ESCAPED = re.compile(f"'+[{re.escape(_BEGINS)}]")
_WHOLE = re.compile(r"([+-]?\d+)\.0+")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def neutral(text: str) -> str:
    """As a spreadsheet may have it: an apostrophe before what it would run as a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _is_harmless(text) else text


def plain(text: str) -> str:
    """The reverse of `neutral`."""
    return text[1:] if _ESCAPED.match(text) else text


def is_formula(text: str) -> bool:
    """Would a spreadsheet run this?"""
    return text[:1] in tuple(_BEGINS) and not _is_harmless(text)


def _is_harmless(text: str) -> bool:
    return text == "-" or _NUMBER.fullmatch(text) is not None


def parse(field: models.Field[Any, Any], text: str) -> Any:
    """The value of a cell; None for an empty number. Raises ValueError with words for the reader."""
    if isinstance(field, models.JSONField):
        return [name for name in re.split(r"[;,\s]+", text.strip()) if name]
    if isinstance(field, models.BooleanField):
        return _boolean(text)
    if isinstance(field, models.IntegerField):
        whole = _WHOLE.fullmatch(text.strip())  # so a table of floats spells a whole number
        return _number(whole[1] if whole else text, int, _("%(text)s is no whole number."))
    if isinstance(field, models.FloatField):
        return _number(text, float, _("%(text)s is no number."))
    if CONTROL.search(text):
        raise ValueError(_("There is a control character in it."))
    return text if isinstance(field, models.TextField) else _line(text)


def _line(text: str) -> str:
    """Names are compared letter by letter: what nobody sees must not make another one of them."""
    shown = text.strip()
    letter = unseen(shown)
    if letter is not None:
        raise ValueError(_("There is an invisible character in it (U+%(code)s).") % {"code": f"{ord(letter):04X}"})
    return shown


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise ValueError(_("%(text)s is neither 1 nor 0.") % {"text": _quoted(text)})


def _number(text: str, kind: type[int] | type[float], words: str) -> int | float | None:
    if text.strip() in EMPTY:
        return None
    try:
        number = kind(text.strip().replace("_", " "))  # Python reads 1_000, people do not write it
    except ValueError:
        number = float("nan")
    if number != number or abs(number) == float("inf"):
        raise ValueError(words % {"text": _quoted(text)})
    return number


def _quoted(text: str) -> str:
    return f"“{text[:60]}”"


def spell(value: Any, names: Mapping[bool, str] | None = None) -> str:
    """A value of a row as text."""
    if isinstance(value, list | tuple):
        return ";".join(map(str, value))
    if isinstance(value, bool):
        return (names or {True: "1", False: "0"})[value]
    if isinstance(value, float):
        return f"{value:.12g}"
    return "" if value is None else str(value)
