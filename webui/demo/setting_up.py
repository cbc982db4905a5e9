"""What must be there before the site serves: tables, resource rows, static files, accounts."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections

from jobs.models import Membership, Team
from webui.demo.console import text
from webui.demo.environment import write_private

TEAM = "Demo"
MEMBERS = ("ada", "lin")
ADMIN = "admin"


@dataclass(frozen=True)
class Login:
    user: str
    password: str
    role: str


def prepare_site() -> list[Login]:
    """Bring everything up to date; returns the logins of the demo."""
    with Path(os.devnull).open("w") as quiet:
        call_command("migrate", interactive=False, verbosity=0, stdout=quiet)
        call_command("load_tables", verbosity=0, stdout=quiet)
        collect_static(quiet)
    logins = list(demo_accounts())
    connections.close_all()
    return logins


def collect_static(output: object) -> None:
    """Gather the static files, unless none has changed since the last time."""
    if settings.DEBUG:
        return  # served from where they lie
    stamp = Path(settings.STATIC_ROOT) / ".newest"
    newest = str(_newest_change())
    if not stamp.exists() or stamp.read_text() != newest:
        call_command("collectstatic", interactive=False, clear=True, verbosity=0, stdout=output)
        stamp.write_text(newest)


def _newest_change() -> tuple[float, int]:
    """Latest time of change and number of all source files."""
    from django.contrib.staticfiles.finders import get_finders

    times = [Path(storage.path(name)).stat().st_mtime for finder in get_finders() for name, storage in finder.list([])]
    return max(times, default=0.0), len(times)


def demo_accounts() -> Iterator[Login]:
    """A team with two members, and an administrator. A password is made with its account and then kept as it is."""
    kept = Path(settings.DATA_DIR) / "run" / "logins.json"
    passwords: dict[str, str] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    team, _ = Team.objects.get_or_create(name=TEAM)
    for name in (ADMIN, *MEMBERS):
        user = User.objects.filter(username=name).first()
        if user is None:
            passwords[name] = secrets.token_urlsafe(9)
            write_private(kept, json.dumps(passwords, indent=2))
            user = _new_account(name, passwords[name])
        if name != ADMIN:
            Membership.objects.get_or_create(team=team, user=user)
        known = passwords.get(name, "")
        shown = known if known and user.check_password(known) else text("changed_password")
        yield Login(name, shown, text("administrator" if name == ADMIN else "member"))


def _new_account(name: str, password: str) -> User:
    if name == ADMIN:
        return User.objects.create_superuser(name, password=password)
    return User.objects.create_user(name, password=password)
