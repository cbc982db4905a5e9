"""`manage.py demo` from start to end."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from engine.run_folder import write_atomic
from webui.demo.background import Background
from webui.demo.console import complain, say
from webui.demo.processes import (
    free_port,
    local_address,
    reconciler_child,
    redis_child,
    web_child,
    worker_child,
)
from webui.demo.redis_server import NoRedisServer, answers
from webui.demo.setting_up import Login, prepare_site
from webui.demo.stopping import say_what_goes_on, say_what_still_runs
from webui.demo.supervisor import Interrupted, NotReady, Supervisor


class AlreadyServing(Exception):
    """Another demo holds this data folder."""


@dataclass(frozen=True)
class Options:
    host: str
    port: int
    once: bool
    again: bool
    model: str
    no_job: bool


def serve(options: Options) -> int:
    """Run the demo until told to stop; returns the exit code. Raises AlreadyServing."""
    port = free_port(options.host, options.port)
    if port is None:
        complain("no_port", host=options.host, first=options.port, last=options.port + 99)
        return 1
    address = local_address(options.host, port)
    supervisor = Supervisor()
    with only_one(address), supervisor.signals():
        try:
            return _serve(supervisor, options, port, address)
        except NoRedisServer as error:
            complain("no_redis", error=error)
        except NotReady as error:
            complain("plain", text=error)
        except Interrupted:
            return 130
        finally:
            supervisor.stop()
            say_what_goes_on()
            say("stopped")
    return 1


def _serve(supervisor: Supervisor, options: Options, port: int, address: str) -> int:
    redis = redis_child()
    if redis is not None:
        supervisor.start(redis)
    elif not answers(settings.REDIS_URL):
        complain("redis_silent", url=settings.REDIS_URL)
        return 1
    say("database")
    logins = prepare_site()
    supervisor.start(worker_child(), wait=False)
    supervisor.start(reconciler_child(), wait=False)
    supervisor.start(web_child(options.host, port))
    greet(address, logins)
    say_what_still_runs(address)
    if options.no_job:
        supervisor.run(lambda: False)
        return 0
    background = Background(address, model=options.model, again=options.again, once=options.once)
    try:
        supervisor.run(background)
    finally:
        background.close()
    return 0 if background.succeeded or not options.once else 130 if supervisor.interrupts else 1


def greet(address: str, logins: list[Login]) -> None:
    say("serving", address=address)
    for login in logins:
        say("login", role=login.role, user=login.user, password=login.password)


@contextmanager
def only_one(address: str) -> Iterator[None]:
    """Hold the data folder's lock, and leave our address beside it for a second one to read."""
    run_dir = Path(settings.DATA_DIR) / "run"
    note = run_dir / "demo.json"
    with (run_dir / "demo.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            other = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
            complain("already", pid=other.get("pid", "?"), address=other.get("address", "?"))
            raise AlreadyServing from error
        write_atomic(note, json.dumps({"pid": os.getpid(), "address": address}))
        try:
            yield
        finally:
            note.unlink(missing_ok=True)
