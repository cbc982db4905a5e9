"""Installs the engine's packages while the site already serves."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings

from engine.run_folder import write_atomic
from webui.demo import bootstrap
from webui.demo.child import Child
from webui.demo.processes import log_file

LINE = re.compile(r"^\s*(Collecting|Downloading|Installing collected packages|Processing|Building wheel)\b(.*)$")
LONGEST = 100


def running_in_venv() -> bool:
    return Path(sys.prefix).resolve() == bootstrap.VENV.resolve()


def present() -> bool:
    """Whether trainings can start: the pins are installed, or, in an environment of somebody else, torch is there."""
    if running_in_venv():
        return bootstrap.installed("engine")
    return find_spec("torch") is not None and find_spec("transformers") is not None


def banner() -> Path:
    """There as long as packages are being installed: pages show a note, and nodes offer no framework."""
    return Path(settings.DATA_DIR) / "run" / "engine-installing"


def failure() -> Path:
    """There after an installation that failed, until the next start: pages say so."""
    return banner().with_name("engine-failed")


def commands() -> Iterator[tuple[list[str], bool]]:
    """pip's commands, each with whether its failure matters."""
    for command in bootstrap.commands("engine"):
        yield _talking(command), True
    yield _talking(bootstrap.sample_model_command()), False


def _talking(command: list[str]) -> list[str]:
    return [word for word in command if word != "--quiet"] + ["--progress-bar", "off", "--no-input"]


def child(command: list[str]) -> Child:
    return Child("pip", command, log_file("engine-install"))


def show_progress(pip: Child) -> str:
    """Write what pip does now into the banner file; returns that line."""
    line = next((found for text in reversed(pip.last_lines(40).splitlines()) if (found := _human(text))), "")
    if not banner().exists() or banner().read_text(encoding="utf-8") != line:
        write_atomic(banner(), line)
    return line


def _human(line: str) -> str:
    """`Downloading torch-2.13.0+cpu-cp311-….whl (190.1 MB)` → `Downloading torch-2.13.0+cpu (190.1 MB)`."""
    found = LINE.match(line)
    if found is None:
        return ""
    rest = re.sub(r"\s+\(from .*\)$", "", found[2])
    rest = re.sub(r"(\S*/)?([A-Za-z0-9_.]+-[0-9][^-\s]*)\S*\.(whl|tar\.gz|zip)(\.metadata)?", r"\2", rest)
    return f"{found[1]}{rest}"[:LONGEST]
