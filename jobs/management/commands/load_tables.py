"""Load the resource tables that come with this release."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engine.catalog import TABLES, load
from jobs.seed import Change, load_tables


class Command(BaseCommand):
    help = (
        "Load the resource tables of this release, and estimate what our own engine needs. "
        "Rows that were edited or deleted here are kept so. Safe to repeat."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--folder", type=Path, default=TABLES, help="folder with the CSV files")
        parser.add_argument("--dry-run", action="store_true", help="only show what would change")
        parser.add_argument("--overwrite", action="store_true", help="overwrite edited and deleted rows, too")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            catalog = load(options["folder"])
        except (OSError, ValueError) as error:
            raise CommandError(str(error)) from error
        changes = load_tables(catalog, overwrite=options["overwrite"], dry_run=options["dry_run"])
        for change in changes:
            if change.action != "add" or options["verbosity"] > 1:
                self.stdout.write(_line(change))
        self.stdout.write(_summary(changes, options["dry_run"]))


def _line(change: Change) -> str:
    differences = ", ".join(f"{name}: {old!r} → {new!r}" for name, (old, new) in change.differences.items())
    kept = f" ({'deleted' if change.deleted else 'edited'} here; kept)" if change.action == "keep" else ""
    return f"{change.action} {change.row._meta.model_name} {change.row}{kept} {differences}".rstrip()


def _summary(changes: list[Change], dry_run: bool) -> str:
    counted = Counter(change.action for change in changes)
    would = "would be " if dry_run else ""
    return (
        f"{counted['add']} rows {would}added, {counted['change']} {would}changed, "
        f"{counted['remove']} {would}removed, {counted['keep']} kept as edited"
    )
