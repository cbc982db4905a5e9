"""Which Chromium the browser tests drive: the system's, Debian's package, or Playwright's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OWN = Path(sys.prefix) / "browsers"
"""Where Playwright's own download goes: inside the checkout's environment."""
FLAGS = (
    "--no-sandbox",  # also works for root and in containers
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


class NoBrowser(Exception):
    """No Chromium here, and none could be had."""


def find() -> str | None:
    """Path of a Chromium: TRAINYARD_CHROMIUM, one on PATH, or the one that `install` has fetched."""
    for name in (os.environ.get("TRAINYARD_CHROMIUM", ""), *NAMES):
        if name and (found := shutil.which(name)):
            return found
    names = ("chrome-linux/chrome", "chrome-linux*/chrome", "chrome-linux*/headless_shell")
    return next((str(path) for name in names for path in sorted(OWN.glob(f"chromium*/{name}"))), None)


def install() -> str:
    """Fetch one when there is none. Raises NoBrowser."""
    if found := find():
        return found
    if os.getuid() == 0 and shutil.which("apt-get"):
        _run(["apt-get", "update", "-qq"])
        _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"])
        if found := find():
            return found
    _run([sys.executable, "-m", "playwright", "install", "chromium"])
    if found := find():
        return found
    raise NoBrowser(
        "The browser tests need Chromium, and none was found or could be installed.\n"
        "Debian: apt-get install chromium    elsewhere: TRAINYARD_CHROMIUM=/path/to/chromium make test"
    )


def _run(command: list[str]) -> None:
    print(f"Chromium is not installed; running: {' '.join(command)}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "PLAYWRIGHT_BROWSERS_PATH": str(OWN)}
    subprocess.run(command, env=environment, check=False)
