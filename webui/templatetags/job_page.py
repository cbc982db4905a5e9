"""Filters of the job page: findings and reasons in the reader's language, numbers and times."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from pydantic import ValidationError

from engine.plan import Reason
from engine.problem_texts import message, reason, remedy
from engine.problems import LANGUAGES, Problem

register = template.Library()

STAGE_STATES = {
    "waiting": ("secondary", gettext_lazy("Waiting")),
    "running": ("primary", gettext_lazy("Running")),
    "succeeded": ("success", gettext_lazy("Succeeded")),
    "failed": ("danger", gettext_lazy("Failed")),
    "stopped": ("warning", gettext_lazy("Stopped")),
    "skipped": ("secondary", gettext_lazy("Skipped")),
}


def language() -> str:
    current = get_language() or LANGUAGES[0]
    return current if current in LANGUAGES else LANGUAGES[0]


@register.filter
def has_errors(problems: Sequence[Mapping[str, Any]]) -> bool:
    """Whether anything of it has failed; warnings and notes alone are remarks."""
    return any(problem.get("severity", "error") == "error" for problem in problems)


@register.filter
def problem_message(problem: Mapping[str, Any]) -> str:
    known = _problem(problem)
    return str(problem.get("code", "")) if known is None else message(known, language())


@register.filter
def problem_remedy(problem: Mapping[str, Any]) -> str:
    known = _problem(problem)
    return "" if known is None else remedy(known, language())


def _problem(problem: Mapping[str, Any]) -> Problem | None:
    """None for one that was stored by a release of another shape. Rows name the stage beside the problem."""
    try:
        return Problem.model_validate({key: value for key, value in problem.items() if key != "stage"})
    except ValidationError:
        return None


@register.filter
def reason_text(stored: Mapping[str, Any]) -> str:
    return reason(Reason.model_validate(stored), language())


@register.filter
def clock(seconds: float | None) -> str:
    """`1:02:03`; empty for None."""
    if seconds is None:
        return ""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


@register.filter
def significant(value: object) -> str:
    """A number with four significant digits; spelled-out NaN and Infinity stay as they are."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "" if value is None else str(value)
    if value != 0 and (abs(value) < 1e-3 or abs(value) >= 1e7):
        mantissa, exponent = f"{value:.3e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


@register.filter
def shell(argv: Sequence[str]) -> str:
    """A command as one would type it; our placeholders stay readable."""
    return " ".join(word if word.startswith("{") else shlex.quote(word) for word in argv)


@register.filter
def setting(value: object) -> str:
    """A value of the spec for people."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "—"
    return str(value)


@register.filter
def stage_colour(state: str) -> str:
    return STAGE_STATES.get(state, ("secondary", ""))[0]


@register.filter
def stage_label(state: str) -> str:
    return str(STAGE_STATES.get(state, ("", state))[1])
