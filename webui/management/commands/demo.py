"""The whole site on one machine, in the foreground, with a real fine-tuning to look at."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import translation

from webui.demo.console import language
from webui.demo.running import AlreadyServing, Options, serve
from webui.demo.sample import TINY
from webui.demo.stopping import stop_trainings


class Command(BaseCommand):
    help = "Serve the whole site from here until Ctrl-C, and train the sample model."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
        parser.add_argument("--port", type=int, default=8000, help="first port to try (%(default)s)")
        parser.add_argument("--once", action="store_true", help="wait for the training, print its result and end")
        parser.add_argument("--again", action="store_true", help="submit the sample job again")
        parser.add_argument("--model", choices=("sample", TINY), default="sample", help="tiny: random weights, quick")
        parser.add_argument("--no-job", action="store_true", help="serve only")
        parser.add_argument("--stop-jobs", action="store_true", help="end the trainings that go on, and leave")

    def handle(self, *args: Any, **options: Any) -> None:
        translation.activate(language())
        if options["stop_jobs"]:
            sys.exit(0 if stop_trainings() else 1)
        names = ("host", "port", "once", "again", "model", "no_job")
        try:
            sys.exit(serve(Options(**{name: options[name] for name in names})))
        except AlreadyServing:
            sys.exit(1)
