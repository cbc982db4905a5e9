"""What `make demo ONCE=1` tells of its run: progress on the way, and the outcome."""

from __future__ import annotations

import json
import time
from typing import Any

from engine.events import LM_LOSS
from engine.problem_texts import message
from engine.problems import Problem
from engine.run_folder import read_json
from jobs.models import Run
from jobs.states import RunState
from webui.demo.console import language, say

EVERY = 10.0


class Watcher:
    """Says every now and then how far the run is."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._said: tuple[str, Any] = ("", None)
        self._next = 0.0

    def show(self) -> None:
        progress, stage = self._run.progress, self._run.stage
        now = (stage, progress.get("done"))
        if not stage or now == self._said or (stage == self._said[0] and time.monotonic() < self._next):
            return
        self._said, self._next = now, time.monotonic() + EVERY
        total = f"/{progress['total']}" if progress.get("total") else ""
        loss = self._run.metrics.get(LM_LOSS, "-")
        say("progress", stage=stage, done=progress.get("done", 0), total=total, loss=_short(loss))


def report(run: Run) -> bool:
    """Print the outcome; True when the run has succeeded."""
    folder = run.folder
    say("result", run=run.pk, name=run.job.name, state=run.get_state_display())
    losses = loss_curve(run)
    if losses:
        (_, first), (iteration, last) = losses[0], losses[-1]
        say("result_loss", first=_short(first), last=_short(last), iteration=iteration)
    for sample in read_json(folder.samples) or []:
        say("result_answer", **{name: _line(sample[name]) for name in ("prompt", "before", "after")})
    for problem in run.problems:
        known = Problem.model_validate({name: problem[name] for name in Problem.model_fields if name in problem})
        say("result_problem", text=message(known, language()))
    say("result_folder", folder=folder.path)
    return run.state == RunState.SUCCEEDED


def loss_curve(run: Run) -> list[tuple[int, Any]]:
    """(iteration, lm_loss) of every metric event, from the file."""
    if not run.folder.events.exists():
        return []
    events = map(json.loads, run.folder.events.read_text(encoding="utf-8").splitlines())
    found = [event["data"] for event in events if event["kind"] == "metric"]
    return [(data["iteration"], data[LM_LOSS]) for data in found if LM_LOSS in data]


def _short(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _line(text: str | None) -> str:
    return " ".join((text or "-").split())
