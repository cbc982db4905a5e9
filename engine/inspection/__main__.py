"""`python -m engine.inspection < REQUEST.json`: the answer goes to standard output, as one line of JSON.

That is a DatasetReport or a RowView, or {"problems": […]} where there is neither. `python -m engine inspect` asks it.
Exit codes: 0 the dataset is usable, 2 it is not, 3 it failed while running, 130 stopped.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback

from engine.dataset_report import DatasetReport, RowView
from engine.disk import tells_of_full_disk
from engine.failures import Failure
from engine.inspection import findings
from engine.inspection.request import Request
from engine.problems import Problem

USABLE, PROBLEMS, FAILED, STOPPED = 0, 2, 3, 130
_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG: whoever asked has gone, and nobody reads the answer any more."""


def main() -> int:
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.modules["torch"] = None  # type: ignore[assignment]  # transformers does without; it takes a second to import
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    request = Request.model_validate_json(sys.stdin.buffer.read())
    try:
        shape, code = answer(request)
        _say(shape.model_dump_json())
    except KeyboardInterrupt:
        return STOPPED
    except Exception as error:  # noqa: BLE001 - the outermost edge of the process
        traceback.print_exc()
        _say(json.dumps({"problems": [_unexpected(error).model_dump(mode="json")]}))
        return FAILED
    return code


def answer(request: Request) -> tuple[DatasetReport | RowView, int]:
    """The report or the view, and the exit code."""
    try:
        if request.row is not None:
            from engine.inspection.viewing import view

            return view(request, request.row), USABLE
        from engine.inspection.inspecting import inspect

        report = inspect(request, _Progress() if request.progress else lambda rows, read, size: None)
    except Failure as failure:
        report = DatasetReport(asked=request.asked, usable=False, problems=(failure.problem,))
    except OSError as error:
        if tells_of_full_disk(error):
            raise
        problem = findings.unreadable(request.input, error)
        report = DatasetReport(asked=request.asked, usable=False, problems=(problem,))
    return report, USABLE if report.usable else PROBLEMS


class _Progress:
    """A line of JSON a second on standard error."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 1

    def __call__(self, rows: int, read: int, size: int) -> None:
        if time.monotonic() >= self._next:
            self._next += 1
            print(json.dumps({"rows": rows, "bytes": read, "size": size}), file=sys.stderr, flush=True)


def _unexpected(error: Exception) -> Problem:
    reason = f"{type(error).__name__}: {error}"[:500]
    if tells_of_full_disk(error):
        return Problem(code="disk.full", field="", fault="site", parameters={"reason": reason})
    code = "stage.out_of_memory" if isinstance(error, MemoryError) else "stage.unexpected"
    return Problem(code=code, field="", fault="software", parameters={"reason": reason})


def _say(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
