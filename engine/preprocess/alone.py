"""`python -m engine.preprocess.alone REQUEST`: preprocessing without a run; `engine.preprocess_verb` starts it."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

from engine.disk import tells_of_full_disk
from engine.events import Emitter
from engine.failures import Failure
from engine.preprocess.light_libraries import without_torch
from engine.problem_texts import message, remedy
from engine.problems import Problem, Value
from engine.run_folder import write_atomic
from engine.spec import DatasetChoice

DONE, WRONG, FAILED, STOPPED = 0, 2, 3, 130


def main(arguments: list[str]) -> int:
    asked: dict[str, Any] = json.loads(arguments[0])
    language = str(asked.pop("language"))
    try:
        return _prepare(asked, language)
    except KeyboardInterrupt:
        return STOPPED
    except Failure as failure:
        _say(failure.problem, language)
        return WRONG if failure.problem.fault == "user" else FAILED
    except OSError as error:
        _say(_of_disk(error), language)
        return FAILED
    except (RuntimeError, ValueError, TypeError, LookupError, AssertionError, MemoryError) as error:
        traceback.print_exc()
        reason = f"{type(error).__name__}: {error}"[:500]
        _say(Problem(code="stage.unexpected", field="", fault="software", parameters={"reason": reason}), language)
        return FAILED


def _prepare(asked: dict[str, Any], language: str) -> int:
    from engine.preprocess.preparing import Request, cache_root, prepare, samples  # behind without_torch

    prefix = Path(asked["prefix"])
    cache = Path(asked["cache"]) if asked["cache"] else cache_root(prefix)
    dataset = DatasetChoice.model_validate(asked["dataset"])
    request = Request(**(asked | {"dataset": dataset, "prefix": prefix, "cache": cache}))
    report = prepare(request, Emitter(None))
    count = samples(request, report)
    print(f" {report.told()}; samples: {count}, tokens: {report.tokens}", flush=True)
    for problem in report.problems(request.seq_length, dataset.path):
        _say(problem, language)
    text = json.dumps(report.to_json(count, request.seq_length), indent=2)
    write_atomic(prefix.with_name(f"{prefix.name}_report.json"), text + "\n")
    return DONE


def _of_disk(error: OSError) -> Problem:
    """What is read has its own failures, so that this is about what is written."""
    if tells_of_full_disk(error):
        return Problem(code="disk.full", field="", fault="site", parameters={"reason": str(error)})
    if error.filename is None:
        return Problem(code="stage.unexpected", field="", fault="site", parameters={"reason": str(error)})
    told: dict[str, Value] = {"path": str(error.filename), "reason": error.strerror or str(error)}
    return Problem(code="output.unwritable", field="output", fault="site", parameters=told)


def _say(problem: Problem, language: str) -> None:
    print(f" {message(problem, language)} {remedy(problem, language)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    without_torch()
    sys.exit(main(sys.argv[1:]))
