"""Giving a run up: nobody will ever write its result."""

from __future__ import annotations

from django.db import transaction

from engine.problems import Problem
from jobs.models import Run
from jobs.recorder import conclude_stages
from jobs.states import RunState

FOLDER_GONE = "folder_gone"
NODE_GONE = "node_gone"
CANNOT_START = "cannot_start"
NODE_SILENT = "node_silent"


def give_up(run: Run, reason: str) -> None:
    """Put back a run that has not begun; a run that has begun is lost."""
    if run.state == RunState.ASSIGNED:
        run.advance(RunState.ASSIGNED, RunState.QUEUED, reason, if_token=run.token, node=None)
    else:
        lose(run, reason)


def lose(run: Run, reason: str) -> None:
    """End the run as lost and say why among its problems."""
    node = run.node.name if run.node is not None else None
    problem = Problem(code=f"run.{reason}", field="", fault="site", parameters={"node": node})
    problems = [*run.problems, {**problem.model_dump(mode="json"), "stage": ""}]
    with transaction.atomic():
        if run.advance(RunState(run.state), RunState.LOST, reason, problems=problems):
            conclude_stages(run, RunState.LOST)
