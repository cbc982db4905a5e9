"""`run`: all stages of a plan in order, each in its own processes."""

from __future__ import annotations

import os
import time

from engine.frameworks.placeholders import cannot_start
from engine.plan import Plan
from engine.run_folder import RunFolder, read_json, write_atomic
from engine.runner.journal import Journal
from engine.runner.judging import is_done
from engine.runner.locks import AlreadyRunning, adopt, has_processes, take
from engine.runner.recovery import reopen
from engine.runner.result import Result
from engine.runner.stage_run import Context, Outcome, StageRun
from engine.runner.watching import OnChange, Watch
from engine.spec import JobSpec, canonical_json


def run(
    folder: RunFolder,
    *,
    on_change: OnChange | None = None,
    grace_seconds: float = 60,
    lock_descriptor: int | None = None,
    again: bool = False,
) -> Result:
    """Run a prepared folder to its end, or take over a run whose runner has died.

    on_change: called with a path, in this thread, whenever events.jsonl or a log file has grown.
    grace_seconds: time between TERM and KILL when the run is stopped.
    lock_descriptor: a descriptor inherited together with the lock of the run; else the lock is taken here.

    again: let a run that has failed or was stopped go on from where it was: done stages are skipped, the
    training takes its newest checkpoint, and the old result is kept as `result.<n>.json`.

    Otherwise a folder that already has a result is left alone. Raises AlreadyRunning when another runner lives.
    """
    if lock_descriptor is None and (result := _final(folder, again)) is not None:
        return result
    held = take(folder.lock) if lock_descriptor is None else adopt(lock_descriptor, folder.lock)
    if held is None:
        raise AlreadyRunning(f"another runner holds {folder.lock}")
    try:
        return _final(folder, again) or _run(folder, Watch(folder, on_change), grace_seconds)
    finally:
        os.close(held)


def _final(folder: RunFolder, again: bool) -> Result | None:
    """The result, unless it is one to go on after."""
    result = Result.read(folder.result)
    return None if again and result is not None and result.state != "succeeded" else result


def _run(folder: RunFolder, watch: Watch, grace_seconds: float) -> Result:
    folder.create()
    journal = Journal(folder)
    try:
        spec = JobSpec.model_validate_json(folder.spec.read_bytes())
        plan = Plan.model_validate_json(folder.plan.read_bytes())
        if (ended := Result.read(folder.result)) is not None:
            reopen(folder, journal, plan.stages, ended, spec.spec_version)
        journal.add_once("started", spec_version=spec.spec_version)
        roots = read_json(folder.roots)
        allowed = None if roots is None else tuple(roots)
        outcome = _run_stages(Context(folder, spec, plan, journal, watch, grace_seconds, allowed))
        journal.add_once("finished", state=outcome.state, returncode=outcome.returncode)
        journal.sync()
        watch.look()
    finally:
        journal.close()
    result = Result(**vars(outcome), finished_at=time.time())
    write_atomic(folder.result, canonical_json(result))
    return result


def _run_stages(context: Context) -> Outcome:
    stages = context.plan.stages
    if (problem := cannot_start(stages, os.environ)) is not None and not has_processes(context.folder):
        context.journal.add_once("problem", problem=problem.model_dump(mode="json"))
        return Outcome("failed", stages[0].name)
    outcome = Outcome("succeeded", stages[-1].name, 0)
    for number, stage in enumerate(stages, start=1):
        if not is_done(context.folder, stage):
            outcome = StageRun(context, stage).run()
            if outcome.state != "succeeded":
                break
        context.journal.add_once("progress", done=number, total=len(stages), unit="stages", seconds_left=None)
    return outcome
