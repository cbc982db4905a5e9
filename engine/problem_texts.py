"""Texts of problems and reasons by code, in English and Simplified Chinese.

The entries are in `engine/texts/`, a file a subject. A placeholder names a parameter of the Problem or
Reason; `{why_text}` is the text of the reason code in the parameter `why`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.plan import Reason
from engine.problems import LANGUAGES, Problem
from engine.texts import (
    choices,
    devices,
    files,
    inspection,
    layout,
    memory,
    mindspeed,
    reasons,
    request,
    resume,
    rows,
    running,
    shape,
    site,
    table,
)
from engine.texts.entry import Text

PROBLEMS: dict[str, Text] = {
    **shape.TEXTS,
    **request.TEXTS,
    **devices.TEXTS,
    **layout.TEXTS,
    **memory.TEXTS,
    **files.TEXTS,
    **inspection.TEXTS,
    **resume.TEXTS,
    **running.TEXTS,
    **mindspeed.TEXTS,
    **site.TEXTS,
    **table.TEXTS,
}
REASONS: dict[str, Text] = {**reasons.TEXTS, **choices.TEXTS, **rows.TEXTS, **inspection.ROWS}


class _Parameters(dict[str, Any]):
    """A problem that was stored by another release may lack a parameter; its text is shown all the same."""

    def __missing__(self, key: str) -> str:
        return "?"


def message(problem: Problem, language: str) -> str:
    """What is wrong. A code without a text is shown as it is."""
    text = PROBLEMS.get(problem.code)
    return problem.code if text is None else _filled(text.message(known(language)), problem.parameters, language)


def remedy(problem: Problem, language: str) -> str:
    """What to do; empty where there is nothing to do."""
    text = PROBLEMS.get(problem.code)
    return "" if text is None else _filled(text.remedy(known(language)), problem.parameters, language)


def reason(reason: Reason, language: str) -> str:
    """Why something was decided, or why a row of a dataset cannot be used."""
    return _reason(reason.code, reason.parameters, language)


def suspect(code: str, language: str) -> str:
    """Why a printed number is doubted; a site's own words are shown as they are."""
    return _reason(f"{code}.short", {}, language) if f"{code}.short" in REASONS else code


def known(language: str) -> str:
    """One of LANGUAGES: zh, zh-cn, zh_Hans and the like are Chinese, all else is English."""
    return LANGUAGES[1] if language.lower().startswith("zh") else LANGUAGES[0]


def _reason(code: str, parameters: Mapping[str, Any], language: str) -> str:
    text = REASONS.get(code)
    return code if text is None else _filled(text.message(known(language)), parameters, language)


def _shown(key: str, value: Any) -> Any:
    """Words of other software end without a stop: the text that they are put into has its own."""
    if key in ("reason", "error") and isinstance(value, str):
        return value.rstrip(". \n")
    return "-" if value is None else value


def _filled(template: str, parameters: Mapping[str, Any], language: str) -> str:
    values = _Parameters({key: _shown(key, value) for key, value in parameters.items()})
    if "why" in values:
        why = values.pop("why")
        values["why_text"] = _reason(str(why), values, language)
        values["why"] = why
    return template.format_map(values)
