"""Keep rows and reality in agreement: the site's one long-running helper process."""

from __future__ import annotations

import signal
from threading import Event as Flag
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.reconciler import OnlyOne, reconcile, reconcile_forever


class Command(BaseCommand):
    help = "Dispatch queued runs, record what running ones do, and heal what was lost. Runs until it is told to stop."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="look once and end")

    def handle(self, *args: Any, **options: Any) -> None:
        lock = OnlyOne()
        if not lock.take():
            raise CommandError(f"another reconciler is at work: {lock.path} is held")
        try:
            if options["once"]:
                reconcile()
            else:
                reconcile_forever(_until_told())
        finally:
            lock.release()


def _until_told() -> Flag:
    stopped = Flag()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    return stopped
