"""A verdict and a plan in words: what the panel beside the form shows."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from engine.plan import DeviceNeed, Plan
from engine.planner import Verdict
from engine.problem_texts import message, reason, remedy
from engine.problems import LANGUAGES, Problem, Value
from webui.fields import FIELDS
from webui.forms import input_id

_PLAIN = re.compile(r"[\w@%+=:,./{}-]+")
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
class Step:
    """A stage of the plan and its command lines."""

    name: str
    commands: list[str]


@dataclass(frozen=True)
class Answer:
    """Everything that the panel shows."""

    tone: str
    sentence: str
    devices: str
    findings: list[Finding]
    changes: list[Change]
    layout: list[tuple[str, str]]
    batch: list[tuple[str, str]]
    reasons: list[str]
    steps: list[Step]


def language() -> str:
    """The reader's language as the engine's texts call it."""
    current = (get_language() or "en").lower()
    return "zh-hans" if current.startswith("zh") else LANGUAGES[0]


def sentences(*parts: str) -> str:
    """Sentences after each other; Chinese puts no space between them."""
    return ("" if language() == "zh-hans" else " ").join(part for part in parts if part)


def answer(verdict: Verdict, plan: Plan | None) -> Answer:
    found = findings(verdict.problems)
    tone, sentence = _sentence(verdict, found)
    return Answer(
        tone=tone,
        sentence=sentence,
        devices=sentences(*device_words(verdict.devices)),
        findings=found,
        changes=[change for change in (_change(sets) for sets in verdict.nearest) if change],
        layout=_facts(_layout_labels(), plan.layout.model_dump()) if plan else [],
        batch=_facts(_batch_labels(), plan.batch.model_dump()) if plan else [],
        reasons=[reason(one, language()) for one in plan.reasons] if plan else [],
        steps=steps(plan) if plan else [],
    )


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
        _("%(setting)s: %(value)s") % {"setting": FIELDS[path].label, "value": _spell(value)}
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


def _spell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return _("empty") if value is None else str(value)


def _sentence(verdict: Verdict, found: list[Finding]) -> tuple[str, str]:
    """Tone (good, warn, bad) and the verdict in one sentence."""
    errors = sum(one.severity == "error" for one in found)
    warnings = sum(one.severity == "warning" for one in found)
    if errors:
        return "bad", ngettext(
            "Cannot start yet: %(count)d problem.", "Cannot start yet: %(count)d problems.", errors
        ) % {"count": errors}
    if warnings:
        return "warn", ngettext(
            "This can start, with %(count)d warning.", "This can start, with %(count)d warnings.", warnings
        ) % {"count": warnings}
    return "good", _("This fits and can start.")


def device_words(need: DeviceNeed) -> list[str]:
    """The minimum-device answer: the table's number, or why there is none, and what else is known."""
    if need.unsupported:
        words = [_("The resource table says: not supported.")]
    elif need.table is None:
        words = [_("The resource table has no row for these settings.")]
    else:
        words = [
            ngettext(
                "The resource table asks for at least %(count)d device.",
                "The resource table asks for at least %(count)d devices.",
                need.table,
            )
            % {"count": need.table}
        ]
    if need.floor is not None:
        words.append(_("Memory alone needs at least %(count)d.") % {"count": need.floor})
    if need.recommended is not None:
        words.append(_("Recommended: %(count)d.") % {"count": need.recommended})
    if need.suspect:
        words.append(_("This number is in doubt: %(why)s") % {"why": need.suspect})
    return words


def steps(plan: Plan) -> list[Step]:
    return [Step(stage.name, [command_line(command.argv) for command in stage.commands]) for stage in plan.stages]


def command_line(argv: tuple[str, ...]) -> str:
    """Words of a command as a shell would take them; places for the runner to fill in stay as they are."""
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in argv)


def _facts(labels: Mapping[str, str], values: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(label, _spell(values[name])) for name, label in labels.items() if values.get(name) is not None]


def _layout_labels() -> dict[str, str]:
    return {
        "devices": _("Devices"),
        "tensor_parallel_size": _("Tensor parallel size"),
        "pipeline_parallel_size": _("Pipeline parallel size"),
        "context_parallel_size": _("Context parallel size"),
        "expert_parallel_size": _("Expert parallel size"),
        "data_parallel_size": _("Data parallel size"),
        "zero_stage": _("ZeRO stage"),
        "recompute": _("Recompute activations"),
    }


def _batch_labels() -> dict[str, str]:
    return {
        "micro_batch_size": _("Micro batch size"),
        "gradient_accumulation_steps": _("Gradient accumulation"),
        "global_batch_size": _("Global batch size"),
        "train_iters": _("Iterations"),
        "epochs": _("Epochs"),
    }
