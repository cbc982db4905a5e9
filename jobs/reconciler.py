"""Makes rows and reality agree, again and again: the queue, the files, and the processes that should live.

Whatever a message, a worker or Redis loses is found here. Everything it does may be done by two
reconcilers at once without harm; the lock only saves work.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from datetime import timedelta
from pathlib import Path
from threading import Event as Flag

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.db.models import F
from django.utils import timezone

from engine.runner import is_alive as supervisor_lives
from jobs.datasets.cleaning import clean
from jobs.datasets.inspections import look_after as look_after_report
from jobs.datasets.inspections import unfinished as unfinished_reports
from jobs.dispatcher import dispatch
from jobs.losing import CANNOT_START, FOLDER_GONE, NODE_GONE, NODE_SILENT, give_up, lose
from jobs.messages import send_start
from jobs.models import Node, Run
from jobs.nodes import is_alive as node_lives
from jobs.recorder import record
from jobs.states import ACTIVE, RunState
from jobs.stop import raise_flag

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 1.0
CLEANING_SECONDS = 600.0
LONGEST_PAUSE_SECONDS = 30.0
RESEND_AFTER = timedelta(seconds=15)
"""A start that has shown no effect for so long is sent again."""
ATTEMPTS = 5
"""Starts without an effect before a run is put back into the queue, or given up as lost."""
SILENT_IS_GONE = timedelta(minutes=10)
"""A node that has been silent for so long has taken its runs with it."""


def reconcile_forever(stopped: Flag) -> None:
    """Reconcile until `stopped` is set; wait ever longer while the database is away."""
    pause, cleaned = INTERVAL_SECONDS, -CLEANING_SECONDS
    while not stopped.wait(pause):
        try:
            close_old_connections()
            reconcile()
            if time.monotonic() - cleaned > CLEANING_SECONDS:
                cleaned = time.monotonic()
                clean_up()
            pause = INTERVAL_SECONDS
        except DatabaseError as error:
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            log.warning("the database is away, next look in %.0f s: %s", pause, error)


def reconcile() -> None:
    """One look at everything. A run that makes trouble does not keep the others waiting."""
    for run in Run.objects.filter(state__in=ACTIVE).select_related("job", "node").order_by("id"):
        try:
            look_after(run)
        except DatabaseError:
            raise
        except Exception:  # the outermost edge: one run's broken folder must not stop the site
            log.exception("run %s could not be looked after", run.pk)
    dispatch()
    for report in unfinished_reports():
        try:
            look_after_report(report)
        except DatabaseError:
            raise
        except Exception:  # the outermost edge, as above
            log.exception("report %s could not be looked after", report.pk)


def clean_up() -> None:
    """Take away what was abandoned. A disk in trouble must not stop the site."""
    try:
        clean()
    except OSError as error:
        log.warning("what was abandoned stays for now: %s", error)


def look_after(run: Run) -> None:
    """Record what has happened to an active run, and help it on if nothing does."""
    if run.state == RunState.STOPPING:
        raise_flag(run)
    record(run)
    if run.ended:
        return
    if supervisor_lives(run.folder):
        _is_well(run)
    elif run.recorded_offset and not run.folder.events.exists():
        lose(run, FOLDER_GONE)
    elif run.node is None or _silent_for(run.node, SILENT_IS_GONE):
        give_up(run, NODE_GONE)
    elif run.start_sent_at is None or timezone.now() - run.start_sent_at > RESEND_AFTER:
        _help(run, run.node)


def _is_well(run: Run) -> None:
    """Forget earlier starts once the run has lived for a while, so that a crash loop still comes to its end."""
    if run.start_attempts > 1 and run.start_sent_at and timezone.now() - run.start_sent_at > 4 * RESEND_AFTER:
        Run.objects.filter(pk=run.pk).update(start_attempts=1)


def _help(run: Run, node: Node) -> None:
    if run.start_attempts >= ATTEMPTS:
        give_up(run, CANNOT_START)
        return
    if not node_lives(node):
        if run.state == RunState.ASSIGNED:
            give_up(run, NODE_SILENT)
        return  # its training may well be alive: wait for the worker
    log.info("run %s has no supervisor: telling %s again", run.pk, node.name)
    Run.objects.filter(pk=run.pk, token=run.token).update(
        start_sent_at=timezone.now(), start_attempts=F("start_attempts") + 1
    )
    send_start(run.pk, run.token, node.name)


def _silent_for(node: Node, span: timedelta) -> bool:
    return timezone.now() - node.last_seen > span


class OnlyOne:
    """Held by the one reconciler of this data folder."""

    def __init__(self) -> None:
        self.path = Path(settings.DATA_DIR) / "run" / "reconciler.lock"
        self._descriptor: int | None = None

    def take(self) -> bool:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
