"""A run followed on the terminal: a line for each stage and iteration, with the time left. Ctrl-C stops it."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from engine.events import ELAPSED_MS, LEARNING_RATE, LM_LOSS
from engine.problem_texts import message, remedy
from engine.problems import Problem
from engine.run_folder import RunFolder
from engine.runner.result import Result
from engine.runner.running import run
from engine.runner.signals import stop_on_signals

EXIT_CODES = {"succeeded": 0, "failed": 3, "stopped": 130}
TEXTS = {
    "en": {
        "ended before": "this run has ended before; nothing is done again",
        "goes on": "this run had {state}; it goes on from where it was",
        "taken over": "taking up a run that was left",
        "started": "{stage}: started (process {pid})",
        "iteration": "{stage}: iteration {iteration}/{total}  loss {loss}  learning rate {rate}  {ms} ms  {left} left",
        "progress": "{stage}: {done}/{total} {unit}  {left} left",
        "checkpoint": "{stage}: checkpoint of iteration {iteration}: {path}",
        "finished": "{stage}: {state}",
        "run finished": "run {state}: {path}",
        "succeeded": "succeeded",
        "failed": "failed",
        "stopped": "stopped",
    },
    "zh-hans": {
        "ended before": "该运行此前已结束，不再重复执行",
        "goes on": "该运行此前{state}，现从中断处继续",
        "taken over": "接管先前中断的运行",
        "started": "{stage}：已启动（进程 {pid}）",
        "iteration": "{stage}：迭代 {iteration}/{total}  损失 {loss}  学习率 {rate}  {ms} 毫秒  剩余 {left}",
        "progress": "{stage}：{done}/{total} {unit}  剩余 {left}",
        "checkpoint": "{stage}：第 {iteration} 次迭代的检查点：{path}",
        "finished": "{stage}：{state}",
        "run finished": "运行{state}：{path}",
        "succeeded": "成功",
        "failed": "失败",
        "stopped": "已停止",
    },
}


def run_in_terminal(folder: RunFolder, *, language: str = "en", grace_seconds: float = 60) -> int:
    """Run a prepared folder and print its events; the exit code of `python -m engine run`.

    Ctrl-C or TERM stops the run, a second one at once. A closed terminal (HUP) ends only the runner:
    the training goes on, and the same command line takes it over. A run that has failed or was stopped goes on
    from where it was.
    """
    stop_on_signals(folder, (signal.SIGINT, signal.SIGTERM))
    printer = EventPrinter(folder, language, sys.stdout)
    result = run(folder, on_change=printer.on_change, grace_seconds=grace_seconds, again=True)
    printer.show_result(result)
    return EXIT_CODES[result.state]


class EventPrinter:
    """Prints each event that is new, once, from the file that is the truth."""

    def __init__(self, folder: RunFolder, language: str, out: TextIO) -> None:
        self._folder = folder
        self._language = language
        self._texts = TEXTS[language]
        self._out = out
        self._offset = folder.events.stat().st_size if folder.events.exists() else 0
        ended = Result.read(folder.result)
        if ended is not None and ended.state == "succeeded":
            self._say("ended before")
        elif ended is not None:
            self._say("goes on", state=self._texts[ended.state])
        elif self._offset:
            self._say("taken over")
        self._left: dict[str, float] = {}
        self._shows: dict[str, Callable[[str, dict[str, Any]], None]] = {
            "started": self._show_started,
            "metric": self._show_metric,
            "progress": self._show_progress,
            "checkpoint": self._show_checkpoint,
            "problem": self._show_problem,
            "finished": self._show_finished,
            "log": self._show_log,
        }

    def on_change(self, path: Path) -> None:
        if path != self._folder.events or not path.exists():
            return
        with path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if line.endswith(b"\n"):
                    self._offset += len(line)
                    event = json.loads(line)
                    self._shows[event["kind"]](event["stage"], event["data"])

    def show_result(self, result: Result) -> None:
        self._say("run finished", state=self._texts[result.state], path=self._folder.path)

    def _say(self, text: str, **values: object) -> None:
        print(self._texts[text].format(**values), file=self._out, flush=True)

    def _show_started(self, stage: str, data: dict[str, Any]) -> None:
        if stage:
            self._say("started", stage=stage, pid=data["pid"])

    def _show_metric(self, stage: str, data: dict[str, Any]) -> None:
        iteration, total = data.get("iteration"), data.get("total_iterations")
        left = None
        if isinstance(elapsed := data.get(ELAPSED_MS), int | float) and iteration is not None and total is not None:
            left = (total - iteration) * elapsed / 1000
        self._say(
            "iteration",
            stage=stage,
            iteration=iteration,
            total=total if total is not None else "?",
            loss=_number(data.get(LM_LOSS), ".4f"),
            rate=_number(data.get(LEARNING_RATE), ".2e"),
            ms=_number(elapsed, ".0f"),
            left=duration(self._left.get(stage, left)),
        )

    def _show_progress(self, stage: str, data: dict[str, Any]) -> None:
        if (left := data.get("seconds_left")) is not None:
            self._left[stage] = left
        if stage and data.get("unit") != "iterations":  # the metric line says it already
            total = data["total"] if data.get("total") is not None else "?"
            self._say(
                "progress", stage=stage, done=data["done"], total=total, unit=data.get("unit", ""), left=duration(left)
            )

    def _show_checkpoint(self, stage: str, data: dict[str, Any]) -> None:
        self._say("checkpoint", stage=stage, iteration=data.get("iteration"), path=data.get("path"))

    def _show_problem(self, stage: str, data: dict[str, Any]) -> None:
        problem = Problem.model_validate(data["problem"])
        texts = (message(problem, self._language), remedy(problem, self._language))
        print(f"{stage}: {' '.join(filter(None, texts))}", file=self._out, flush=True)
        if tail := problem.parameters.get("log_tail"):
            print(f"{problem.parameters['log']}:\n{tail}", file=self._out, flush=True)

    def _show_finished(self, stage: str, data: dict[str, Any]) -> None:
        if stage:
            self._say("finished", stage=stage, state=self._texts[data["state"]])

    def _show_log(self, stage: str, data: dict[str, Any]) -> None:
        if "restart" in data:  # the problem that follows says it in the reader's language
            return
        print(f"{stage}: {data['text']}" if stage else data["text"], file=self._out, flush=True)


def duration(seconds: float | None) -> str:
    """Hours, minutes and seconds, such as 1:02:03; "?" when it is not known."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _number(value: object, form: str) -> str:
    return format(value, form) if isinstance(value, int | float) else str(value if value is not None else "?")
