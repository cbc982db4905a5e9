"""A verdict in words: what the panel beside the form shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine.plan import DeviceNeed
from engine.planner import Verdict
from engine.problem_texts import message, remedy
from engine.problems import Problem, Value
from engine.readable.sentence import sentence
from engine.readable.words import count
from jobs.outlook import Outlook
from webui import memory_bar
from webui.fields import FIELDS
from webui.forms import input_id
from webui.memory_bar import Bar
from webui.plan_words import PlanWords, plan_words, spell
from webui.reader import language, sentences

ORDER = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True)
class Change:
    """Settings to fill in, as a button. `sets` is JSON: path → value."""

    sets: str
    label: str


@dataclass(frozen=True)
class Finding:
    """A problem in the reader's language."""

    code: str
    field: str
    input_id: str
    label: str
    severity: str
    words: str
    """Message and remedy."""
    change: Change | None


@dataclass(frozen=True)
class Number:
    """A number of devices, with what it is."""

    label: str
    value: str


@dataclass(frozen=True)
class Answer:
    """Everything that the panel shows."""

    tone: str
    sentence: str
    status: str
    """Can it start? Empty where the sentence says so itself."""
    numbers: list[Number]
    findings: list[Finding]
    changes: list[Change]
    refused_bar: Bar | None
    """The memory of what does not fit."""
    plan: PlanWords | None

    @property
    def urgent(self) -> list[Finding]:
        """Errors and warnings."""
        return [one for one in self.findings if one.severity != "note"]

    @property
    def notes(self) -> list[Finding]:
        return [one for one in self.findings if one.severity == "note"]


def answer(outlook: Outlook) -> Answer:
    verdict, plan, timing = outlook.verdict, outlook.plan, outlook.timing
    hardware = _hardware(verdict)
    timed = (timing.eta, timing.iterations, timing.rows) if timing else None
    told, (tone, status) = sentence(verdict, language()), _status(verdict)
    return Answer(
        tone=tone,
        sentence=told or status,
        status=status if told else "",
        numbers=_numbers(verdict.devices, hardware),
        findings=findings(verdict.problems),
        changes=[change for change in (_change(sets) for sets in _ways_out(verdict)) if change],
        refused_bar=memory_bar.of_problems(verdict.problems, hardware),
        plan=None if plan is None else plan_words(plan, hardware, timed),
    )


def _ways_out(verdict: Verdict) -> list[dict[str, Value]]:
    """The nearest requests that fit; where other fields are still wrong, what at least needs fewer devices."""
    question = verdict.question
    if verdict.nearest or question is None:
        return list(verdict.nearest)
    return [
        {one.field: one.value, **({"devices": one.devices} if one.devices > question.devices else {})}
        for one in verdict.instead
    ]


def _asked(verdict: Verdict, name: str) -> str:
    question = verdict.question or verdict.spec
    return str(getattr(question, name, ""))


def _hardware(verdict: Verdict) -> str:
    return _asked(verdict, "hardware")


def findings(problems: tuple[Problem, ...]) -> list[Finding]:
    """Errors first, else as found."""
    return [_finding(problem) for problem in sorted(problems, key=lambda problem: ORDER[problem.severity])]


def _finding(problem: Problem) -> Finding:
    path = field_of(problem.field)
    return Finding(
        code=problem.code,
        field=path,
        input_id=input_id(path) if path else "",
        label=str(FIELDS[path].label) if path else "",
        severity=problem.severity,
        words=sentences(message(problem, language()), remedy(problem, language())),
        change=_change(problem.nearest),
    )


def field_of(path: str) -> str:
    """The form field that a problem's path belongs to: itself, the nearest one above, or the first one below."""
    above = path
    while above:
        if above in FIELDS:
            return above
        above = above.rpartition(".")[0]
    return next((name for name in FIELDS if path and name.startswith(f"{path}.")), "")


def _change(sets: Mapping[str, Value]) -> Change | None:
    flat = dict(flatten(sets))
    shown = [
        _("%(setting)s: %(value)s") % {"setting": FIELDS[path].label, "value": spell(value)}
        for path, value in flat.items()
        if path in FIELDS
    ]
    return Change(json.dumps(flat), _(", ").join(shown)) if shown else None


def flatten(sets: Mapping[str, object], prefix: str = "") -> list[tuple[str, object]]:
    """Paths and values of a mapping that may be nested."""
    flat: list[tuple[str, object]] = []
    for name, value in sets.items():
        if isinstance(value, Mapping):
            flat += flatten(value, f"{prefix}{name}.")
        else:
            flat.append((prefix + name, value))
    return flat


def _status(verdict: Verdict) -> tuple[str, str]:
    """Tone (good, warn, bad), and whether it can start."""
    errors = sum(one.severity == "error" for one in verdict.problems)
    warnings = sum(one.severity == "warning" for one in verdict.problems)
    if errors:
        return "bad", ngettext(
            "Cannot start yet: %(count)d problem.", "Cannot start yet: %(count)d problems.", errors
        ) % {"count": errors}
    if warnings:
        return "warn", ngettext(
            "This can start, with %(count)d warning.", "This can start, with %(count)d warnings.", warnings
        ) % {"count": warnings}
    return "good", _("This fits and can start.")


def _numbers(need: DeviceNeed, hardware: str) -> list[Number]:
    """What the table prints, what memory needs at least, and what is recommended."""
    printed = _("unsupported") if need.unsupported else _("no row")
    if need.table is not None:
        printed = count(need.table, hardware, language())
    known = [(_("Minimum by the table"), printed)]
    if need.estimate is not None:
        known = [(_("Estimate of the table"), count(need.estimate, hardware, language()))]
    if need.floor is not None:
        known.append((_("Memory needs"), count(need.floor, hardware, language())))
    if need.recommended is not None:
        label = _("Safer number") if need.suspect else _("Recommended")
        known.append((label, count(need.recommended, hardware, language())))
    told = need.unsupported or any((need.table, need.estimate, need.floor, need.recommended))
    return [Number(label, value) for label, value in known] if hardware and told else []
