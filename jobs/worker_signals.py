"""What a Celery worker does beside its tasks: it reports its node, and its pool dies with it."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
from threading import Event as Flag
from threading import Thread
from typing import Any

from celery.signals import worker_init, worker_process_init, worker_ready, worker_shutting_down
from django.db import Error as DatabaseError
from django.db import connections

from jobs.measuring import measure
from jobs.messages import wake_dispatcher
from jobs.node_report import report

log = logging.getLogger(__name__)
REPORT_SECONDS = 10.0
MEASURE_AFTER, MEASURE_AGAIN = 60.0, 3600.0
"""Seconds: the start of a worker is a busy time; later it is only looked whether a figure has become old."""
PR_SET_PDEATHSIG = 1

_stopped = Flag()
_worker_pid = 0


@worker_init.connect
def remember_the_worker(**_: Any) -> None:
    global _worker_pid
    _worker_pid = os.getpid()


@worker_ready.connect
def start_reporting(**_: Any) -> None:
    """A thread, not a task: it must say that the worker lives even when no message comes through."""
    _stopped.clear()
    Thread(target=_report_until_stopped, name="node-report", daemon=True).start()
    Thread(target=_measure_until_stopped, name="node-measure", daemon=True).start()


@worker_shutting_down.connect
def stop_reporting(**_: Any) -> None:
    _stopped.set()


@worker_process_init.connect
def die_with_the_worker(**_: Any) -> None:
    """A pool process of a killed worker would take messages for ever. Trainings are not its children: they stay."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != _worker_pid:  # the worker died before we asked
        os.kill(os.getpid(), signal.SIGKILL)


def _measure_until_stopped() -> None:
    wait = MEASURE_AFTER
    while not _stopped.wait(wait):
        wait = MEASURE_AGAIN
        try:
            measure()
        except DatabaseError as error:
            log.warning("this node could not note its speed: %s", error)
        finally:
            connections.close_all()


def _report_until_stopped() -> None:
    first = True
    while True:
        try:
            report()
            if first:
                wake_dispatcher()
            first = False
        except DatabaseError as error:
            log.warning("this node could not report itself: %s", error)
        finally:
            connections.close_all()
        if _stopped.wait(REPORT_SECONDS):
            return
