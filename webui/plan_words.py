"""A plan in words: memory, time, every size with its reason, and the command lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from engine.plan import Eta, Plan, Reason
from engine.problem_texts import reason
from engine.readable.commands import command_text
from webui import memory_bar
from webui.durations import span
from webui.fields import RECOMPUTE_LABELS
from webui.memory_bar import Bar
from webui.reader import language, sentences


@dataclass(frozen=True)
class Decision:
    """Something that was decided, and why; the reason may be empty."""

    part: str
    """layout or batch."""
    name: str
    label: str
    value: str
    why: str


@dataclass(frozen=True)
class Step:
    """A stage of the plan, its command lines, and the files that these read: path in the run's folder and text."""

    name: str
    commands: list[str]
    files: list[tuple[str, str]]


@dataclass(frozen=True)
class PlanWords:
    bar: Bar | None
    memory_basis: str
    time: str
    """A range; empty where it is not known."""
    time_basis: str
    decisions: list[Decision]
    remarks: list[str]
    """Reasons of what is not a size."""
    steps: list[Step]


def plan_words(plan: Plan, hardware: str, timed: tuple[Eta, int, int] | None = None) -> PlanWords:
    """timed: the time, iterations and rows, where the plan itself does not know how many iterations there will be."""
    eta = timed[0] if timed else plan.eta
    why = _reasons(plan.reasons)
    basis = [words for code, words in why.get("eta", []) if not (timed and code == "reason.eta_after_preprocessing")]
    if timed:
        counted = {"iterations": timed[1], "rows": timed[2]}
        basis.insert(0, _("%(iterations)d iterations from the %(rows)d rows of the dataset.") % counted)
    decisions = list(_decisions(plan, why))
    told = {"memory", "eta", *(f"{one.part}.{one.name}" for one in decisions)}
    return PlanWords(
        bar=None if plan.memory is None else memory_bar.of_plan(plan.memory, hardware),
        memory_basis=_joined(why.get("memory", [])),
        time=span(eta.seconds_low, eta.seconds_high) if eta else "",
        time_basis=sentences(*basis),
        decisions=decisions,
        remarks=[_joined(why[decision]) for decision in why if decision not in told],
        steps=[
            Step(stage.name, [command_text(command) for command in stage.commands], list(stage.files.items()))
            for stage in plan.stages
        ],
    )


def _reasons(reasons: tuple[Reason, ...]) -> dict[str, list[tuple[str, str]]]:
    """Code and text by what was decided."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in reasons:
        found.setdefault(one.decision, []).append((one.code, reason(one, language())))
    return found


def _joined(why: list[tuple[str, str]]) -> str:
    return sentences(*(words for _code, words in why))


def _decisions(plan: Plan, why: Mapping[str, list[tuple[str, str]]]) -> Iterator[Decision]:
    """A size of 1 that nobody explains is left out."""
    for part, values, labels in (
        ("layout", plan.layout.model_dump(), _layout_labels()),
        ("batch", plan.batch.model_dump(), _batch_labels()),
    ):
        for name, label in labels.items():
            value, reasons = values[name], _joined(why.get(f"{part}.{name}", []))
            quiet = value is None or value is False or (value == 1 and name in _CUTS and not reasons)
            if not quiet:
                yield Decision(part, name, label, _value(name, value), reasons)


_CUTS = ("tensor_parallel_size", "pipeline_parallel_size", "context_parallel_size", "expert_parallel_size")


def _value(name: str, value: object) -> str:
    return str(RECOMPUTE_LABELS.get(str(value), value)) if name == "recompute" else spell(value)


def spell(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, float):
        return f"{value:g}"
    return _("empty") if value is None else str(value)


def _layout_labels() -> dict[str, str]:
    return {
        "tensor_parallel_size": _("Tensor parallel size"),
        "pipeline_parallel_size": _("Pipeline parallel size"),
        "context_parallel_size": _("Context parallel size"),
        "expert_parallel_size": _("Expert parallel size"),
        "data_parallel_size": _("Data parallel size"),
        "zero_stage": _("ZeRO stage"),
        "recompute": _("Recompute activations"),
        "reuse_fp32_param": _("Weights inside their fp32 copies"),
    }


def _batch_labels() -> dict[str, str]:
    return {
        "micro_batch_size": _("Micro batch size"),
        "gradient_accumulation_steps": _("Gradient accumulation"),
        "global_batch_size": _("Global batch size"),
        "train_iters": _("Iterations"),
        "epochs": _("Epochs"),
    }
