"""Collects every text that a person reads and brings the Chinese catalogue up to date.

    manage.py messages            extract, merge into django.po, compile django.mo
    manage.py messages --check    only say what is missing or out of date; exit code 1 if anything is

Babel does what GNU gettext does elsewhere, so that a fresh machine needs no system package.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import template

LOCALE = "zh_Hans"
SOURCES = ("webui", "jobs")
FOREIGN = {"migrations", "simple_history"}
"""Folders without texts of our own; simple-history brings translations of its own."""
HEADER = "# Simplified Chinese texts of Trainyard. Kept by `manage.py messages`."
KEYWORDS: dict[str, Any] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}


class Command(BaseCommand):
    help = "Collect the texts of the site, update the Chinese catalogue and compile it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing; fail if anything is out of date")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        if not check:
            self.stdout.write(f"{update()} texts in {po_path()}")
        faults = list(findings())
        for fault in faults:
            self.stdout.write(fault)
        if check and faults:
            raise CommandError(f"{len(faults)} texts need work")


def po_path() -> Path:
    return Path(settings.BASE_DIR) / "webui" / "locale" / LOCALE / "LC_MESSAGES" / "django.po"


def extracted() -> Catalog:
    """Every text of the sources, with where it stands."""
    found = Catalog(locale=LOCALE, domain="django", project="Trainyard", header_comment=HEADER, fuzzy=False)
    for path in _files():
        source = path.read_text(encoding="utf-8")
        name = path.relative_to(settings.BASE_DIR).as_posix()
        # In parentheses, since the calls that Django makes of a template's tags keep the template's indentation.
        code = source if path.suffix == ".py" else f"({template.templatize(source, origin=name)})"
        texts = extract("python", io.BytesIO(code.encode()), keywords=KEYWORDS, options={"encoding": "utf-8"})
        for _line, text, comments, context in texts:
            found.add(text, None, [(name, 0)], auto_comments=comments, context=context)
    return found


def _files() -> Iterator[Path]:
    for folder in SOURCES:
        for path in sorted((Path(settings.BASE_DIR) / folder).rglob("*")):
            if path.suffix in (".py", ".html") and not FOREIGN & set(path.parts):
                yield path


def update() -> int:
    """Write .po and .mo; returns the number of texts. No line numbers and no dates: a diff shows only words."""
    old = _read(po_path())
    new = extracted()
    for message in new:
        known = old.get(message.id, message.context) if message.id else None
        if known is not None:
            message.string = known.string
            message.flags |= known.flags
    po_path().parent.mkdir(parents=True, exist_ok=True)
    with po_path().open("wb") as file:
        write_po(file, new, width=100, sort_output=True, omit_header=False, include_lineno=False)
    _without_dates(po_path())
    with po_path().with_suffix(".mo").open("wb") as file:
        write_mo(file, _read(po_path()))
    return len(new)


def _without_dates(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    dated = (
        '"Project-Id-Version',
        '"Language-Team',
        '"POT-Creation-Date',
        '"PO-Revision-Date',
        '"Generated-By',
        '"Last-Translator',
        '"Report-Msgid',
    )
    kept = (line for line in lines if not line.startswith(dated))
    path.write_text("".join(kept), encoding="utf-8")


def _read(path: Path) -> Catalog:
    if not path.exists():
        return Catalog(locale=LOCALE)
    with path.open("rb") as file:
        return read_po(file, locale=LOCALE)


def findings() -> Iterator[str]:
    """What keeps the catalogue from being complete: texts without translation, doubtful or superfluous ones."""
    translated = _read(po_path())
    for message in extracted():
        if message.id:
            known = translated.get(message.id, message.context)
            if known is None or not _complete(known):
                yield f"not translated: {message.id!r}"
            elif known.fuzzy:
                yield f"doubtful: {message.id!r}"
            else:
                yield from (f"wrong: {message.id!r}: {error}" for error in known.check())
    yield from _compiled_differs(translated)


def _complete(message: Message) -> bool:
    return all(message.string) if isinstance(message.string, (list, tuple)) else bool(message.string)


def _compiled_differs(translated: Catalog) -> Iterator[str]:
    path = po_path().with_suffix(".mo")
    if not path.exists():
        yield f"missing: {path}"
        return
    with path.open("rb") as file:
        compiled = read_mo(file)
    for message in translated:
        if message.id and _complete(message) and not message.fuzzy:
            known = compiled.get(message.id, message.context)
            if known is None or _words(known) != _words(message):
                yield f"not compiled: {message.id!r}"


def _words(message: Message) -> tuple[str, ...]:
    return tuple(message.string) if isinstance(message.string, (list, tuple)) else (message.string or "",)
