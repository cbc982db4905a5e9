"""Going on after an interruption: a stage that died with its machine, and a run that has ended and is asked again."""

from __future__ import annotations

from engine.plan import Stage
from engine.problems import Problem
from engine.run_folder import RunFolder, newest_checkpoint
from engine.runner.journal import Journal
from engine.runner.launching import forget_start
from engine.runner.result import Result

MOST_RESTARTS = 3
"""Of one stage without progress: what kills it again at the same place will do so for ever."""
INTERRUPTED = "the processes of the stage are gone without a return code, as after a crash of the machine"


def iteration_to_go_on_from(folder: RunFolder) -> int:
    """Of the newest whole checkpoint; 0 without one."""
    found = newest_checkpoint(folder.checkpoints)
    return 0 if found is None else found[0]


def tell_restart(journal: Journal, folder: RunFolder, stage: str) -> bool:
    """Write down that the stage is started again and why; False when it was started often enough.

    Progress is a newer checkpoint than at the restart before, or a stage that was done since.
    """
    iteration = iteration_to_go_on_from(folder)
    before, count = journal.restarts.get(stage, (iteration, 0))
    number = count + 1 if before == iteration else 1
    if number > MOST_RESTARTS:
        text = f"{INTERRUPTED}, {MOST_RESTARTS} times at iteration {iteration}: it is not started again"
        journal.add("log", stage, text=text)
        return False
    text = f"{INTERRUPTED}: it is started again, from iteration {iteration} (restart {number} of {MOST_RESTARTS})"
    journal.add("log", stage, text=text, restart=number, iteration=iteration)
    parameters = {"stage": stage, "iteration": iteration, "restart": number, "most": MOST_RESTARTS}
    problem = Problem(code="stage.restarted", field="", severity="note", fault="site", parameters=parameters)
    journal.add("problem", stage, problem=problem.model_dump(mode="json"))
    return True


def reopen(folder: RunFolder, journal: Journal, stages: tuple[Stage, ...], result: Result, spec_version: int) -> None:
    """Make an ended run one that goes on. The old result is put aside last, so that a crash here changes nothing."""
    journal.add("started", spec_version=spec_version)
    iteration = iteration_to_go_on_from(folder)
    journal.add("log", text=f"the run had {result.state} and is asked again: it goes on from iteration {iteration}")
    for stage in stages:
        forget_start(folder, stage.name)
    folder.stop.unlink(missing_ok=True)
    number = 1
    while (aside := folder.path / f"result.{number}.json").exists():
        number += 1
    folder.result.rename(aside)
