"""The outermost edge of a stage's process: arguments in, exit code out, every failure said clearly."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from engine.disk import tells_of_full_disk
from engine.events import Emitter
from engine.failures import Failure, Stopped
from engine.problem_texts import message, remedy
from engine.problems import Problem, Value
from engine.stage_file import StageFile

DONE, FAILED, STOPPED = 0, 1, 143
"""Exit codes; 143 is 128 + SIGTERM, as a shell would report it."""

PEER_GONE = ("Connection closed by peer", "Connection reset by peer", "Broken pipe")
"""What gloo says when the process at the other end has ended, by what it was just doing."""


def rank() -> int:
    """Number of this process among those of its stage; 0 when it is alone."""
    return int(os.environ.get("RANK", "0"))


def run_stage(work: Callable[[StageFile, Emitter], None], arguments: Sequence[str]) -> int:
    """Do `work` on the stage file named by the only argument; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m engine.<stage> STAGE_JSON", file=sys.stderr)
        return 2
    emitter = Emitter.from_environment()
    try:
        work(StageFile.read(arguments[0]), emitter)
    except Stopped as stopped:
        print(f" stopped: {stopped}", flush=True)
        return STOPPED
    except Failure as failure:
        _say(failure.problem, emitter)
        return FAILED
    except Exception as error:  # noqa: BLE001 - the outermost edge of the process
        with contextlib.suppress(OSError):
            traceback.print_exc()
        _say(_unexpected(error), emitter)
        return FAILED
    return DONE


def _unexpected(error: Exception) -> Problem:
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or "out of memory" in reason or "can't allocate memory" in reason:
        return Problem(code="stage.out_of_memory", field="train.micro_batch_size", parameters={"reason": reason[:500]})
    if tells_of_full_disk(error):
        parameters: dict[str, Value] = {"reason": reason[:500]}
        return Problem(code="disk.full", field="", fault="site", parameters=parameters)
    if os.environ.get("WORLD_SIZE", "1") != "1" and any(words in reason for words in PEER_GONE):
        return Problem(code="stage.peer_lost", field="", severity="note", fault="site", parameters={"rank": rank()})
    return Problem(code="stage.unexpected", field="", fault="software", parameters={"reason": reason[:500]})


def _say(problem: Problem, emitter: Emitter) -> None:
    with contextlib.suppress(OSError):  # a full disk may take neither; then the runner finds out
        print(f" {problem.code}: {message(problem, 'en')} {remedy(problem, 'en')}", file=sys.stderr, flush=True)
    with contextlib.suppress(OSError):
        emitter.emit("problem", rank=rank(), problem=problem.model_dump(mode="json"))
