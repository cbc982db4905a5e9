"""Runs a plan as real processes, or takes over one that is already running. Needs neither a queue nor a database.

The training outlives its runner: its output goes straight to the log file, a wrapper keeps its
return code, and a lock that its processes inherit tells whether any of them still lives.
"""

from engine.runner.locks import AlreadyRunning, has_processes, is_alive
from engine.runner.preparation import FolderInUse, prepare
from engine.runner.result import Result
from engine.runner.running import run
from engine.runner.signals import request_stop, stop_on_signals
from engine.runner.terminal import run_in_terminal

__all__ = [
    "AlreadyRunning",
    "FolderInUse",
    "Result",
    "has_processes",
    "is_alive",
    "prepare",
    "request_stop",
    "run",
    "run_in_terminal",
    "stop_on_signals",
]
