"""A verdict and a plan as text for a terminal, in English or Simplified Chinese."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from engine import problem_texts
from engine.plan import DeviceNeed, Plan
from engine.planner import Verdict
from engine.problems import Problem, Value
from engine.readable.commands import command_text
from engine.readable.sentence import sentence

_WORDS = {
    "error": ("error", "错误"),
    "warning": ("warning", "警告"),
    "note": ("note", "提示"),
    "fits": ("It fits.", "可以运行。"),
    "fits_not": ("It does not fit.", "不能运行。"),
    "request": ("request", "请求"),
    "minimum": ("Minimum devices by the table", "表中的最少设备数"),
    "unsupported": ("unsupported", "不支持"),
    "safer": ("safer", "更稳妥"),
    "nearest": ("These changes would fit:", "以下修改可行："),
    "layout": ("Layout", "并行布局"),
    "batch": ("Batch", "批"),
    "memory": ("Memory of a device (estimate)", "每设备内存（估计）"),
    "duration": ("Training takes about (hours)", "训练约需（小时）"),
    "floor": ("By the memory model at least", "按内存模型至少"),
    "recommended": ("recommended", "推荐"),
    "because": ("Because", "原因"),
    "stages": ("Stages", "阶段"),
    "nothing": ("empty", "空"),
}


def _word(name: str, language: str) -> str:
    return _WORDS[name][0 if problem_texts.known(language) == "en" else 1]


def verdict_text(verdict: Verdict, language: str) -> str:
    """Every problem, the table's number and the nearest settings; ends without a newline."""
    return "\n".join(_verdict_lines(verdict, language))


def _verdict_lines(verdict: Verdict, language: str) -> Iterator[str]:
    for problem in verdict.problems:
        yield from _problem_lines(problem, language)
    if verdict.devices.table is not None or verdict.devices.unsupported:
        yield f"{_word('minimum', language)}: {_need(verdict.devices, language)}"
    if verdict.devices.floor is not None and verdict.devices.recommended is not None:
        yield (
            f"{_word('floor', language)}: {verdict.devices.floor}; "
            f"{_word('recommended', language)}: {verdict.devices.recommended}"
        )
    if told := sentence(verdict, language):
        yield told
    if verdict.spec is not None or any(problem.field for problem in verdict.problems):
        yield _word("fits" if verdict.fits else "fits_not", language)
    if verdict.nearest:
        yield _word("nearest", language)
        for difference in verdict.nearest:
            yield "  " + ", ".join(f"{path} = {_value(value, language)}" for path, value in difference.items())


def _problem_lines(problem: Problem, language: str) -> Iterator[str]:
    place = problem.field or _word("request", language)
    yield f"{_word(problem.severity, language)}: {place}: {problem_texts.message(problem, language)}"
    if remedy := problem_texts.remedy(problem, language):
        yield f"    {remedy}"


def _value(value: Value, language: str) -> str:
    return _word("nothing", language) if value is None else str(value)


def _need(need: DeviceNeed, language: str) -> str:
    if need.unsupported:
        return _word("unsupported", language)
    if need.suspect is None:
        return str(need.table)
    why = problem_texts.suspect(need.suspect, language)
    return f"{need.table} ({why}; {_word('safer', language)}: {need.recommended})"


def plan_text(plan: Plan, language: str) -> str:
    """The decisions, their reasons and the commands; ends without a newline."""
    return "\n".join(_plan_lines(plan, language))


def _plan_lines(plan: Plan, language: str) -> Iterator[str]:
    yield f"{_word('layout', language)}: {_pairs(plan.layout.model_dump(), language)}"
    yield f"{_word('batch', language)}: {_pairs(plan.batch.model_dump(), language)}"
    yield from _estimates(plan, language)
    yield f"{_word('because', language)}:"
    for reason in plan.reasons:
        yield f"  {reason.decision}: {problem_texts.reason(reason, language)}"
    yield f"{_word('stages', language)}:"
    for stage in plan.stages:
        for command in stage.commands:
            yield indent(f"{stage.name}: {command_text(command)}", "  ")
        for path, text in stage.files.items():
            yield f"  {stage.name}: {path}"
            yield indent(text.rstrip(), "    | ")


def _estimates(plan: Plan, language: str) -> Iterator[str]:
    if plan.memory is not None:
        memory = plan.memory
        capacity = "" if memory.usable_gib is None else f" / {memory.usable_gib:.1f}"
        parts = ", ".join(f"{name} {gib:.1f}" for name, gib in memory.breakdown.items())
        yield f"{_word('memory', language)}: {memory.per_device_gib:.1f}{capacity} GiB ({parts})"
    if plan.eta is not None:
        low, high = plan.eta.seconds_low / 3600, plan.eta.seconds_high / 3600
        yield f"{_word('duration', language)}: {low:.1f} - {high:.1f}"


def _pairs(values: dict[str, Value], language: str) -> str:
    return ", ".join(f"{name} {_value(value, language)}" for name, value in values.items())
