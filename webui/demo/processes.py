"""The processes of a whole site on one machine, in the order in which they start."""

from __future__ import annotations

import os
import signal
import socket
import sys
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

from django.conf import settings

from webui.demo.child import Child
from webui.demo.environment import OWN_REDIS
from webui.demo.redis_server import answers, server_command

MANAGE = str(Path(settings.BASE_DIR) / "manage.py")


def log_file(name: str) -> Path:
    return Path(settings.DATA_DIR) / "run" / f"{name}.log"


def redis_child() -> Child | None:
    """Our own server; None when the site brings one in `REDIS_URL`."""
    path = os.environ.get(OWN_REDIS)
    if path is None:
        return None
    folder = Path(settings.DATA_DIR) / "run"
    command = server_command(Path(path), folder)
    return Child("redis", command, log_file("redis"), ready=partial(answers, settings.REDIS_URL))


def web_child(host: str, port: int) -> Child:
    options = ["--ws", "websockets-sansio", "--lifespan", "off", "--timeout-graceful-shutdown", "3", "--no-access-log"]
    options += ["--no-proxy-headers"]  # webui.asgi believes those whom it is told to
    command = [sys.executable, "-m", "uvicorn", "webui.asgi:application", "--host", host, "--port", str(port), *options]
    return Child("web", command, log_file("web"), ready=partial(healthy, local_address(host, port)))


def worker_child() -> Child:
    """The node's worker. SIGQUIT: leave at once; trainings are not its children."""
    options = ["--concurrency", "2", "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    name = f"{settings.NODE}.{os.getpid()}@%h"
    command = [sys.executable, "-m", "celery", "-A", "jobs.celery", "worker", "-n", name, *options]
    return Child("worker", command, log_file("worker"), stop_signal=signal.SIGQUIT)


def reconciler_child() -> Child:
    return Child("reconciler", [sys.executable, MANAGE, "reconcile"], log_file("reconciler"))


def local_address(host: str, port: int) -> str:
    """The address by which this machine itself reaches a site that listens on `host`."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
    return f"http://{reached}:{port}"


def healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError, ValueError):
        return False


def free_port(host: str, first: int, count: int = 100) -> int | None:
    """The first port from `first` on which we can listen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(first, first + count):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    return None
