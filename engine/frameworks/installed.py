"""Frameworks that are installed beside us, each with an interpreter of its own. Found by environment variables:

TRAINYARD_LLAMA_FACTORY_PYTHON   an interpreter in which `llamafactory` is installed
TRAINYARD_MINDSPEED_LLM_HOME     a checkout of MindSpeed-LLM, where its commands run
TRAINYARD_MINDSPEED_LLM_PYTHON   the interpreter that has its packages; ours, if it is not set

Another interpreter is asked for the version, since it alone knows where its packages lie. Nothing of the framework is
imported, so that asking takes some hundredths of a second.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ASK_SECONDS = 30
ASK = "import sys; from importlib.metadata import version; sys.stdout.write(version(sys.argv[1]))"
UNKNOWN = "?"
"""The version of a checkout that is not installed as a package."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    framework: str
    python: str
    """Path of the interpreter that starts it."""
    home: str | None
    """Folder in which its commands run, where they need one."""
    version: str


def find(framework: str, environ: Mapping[str, str]) -> Installation | None:
    """Where a framework is installed; None where it is not, or where its interpreter does not answer."""
    found = _FINDERS.get(framework)
    return None if found is None else found(environ)


def _llama_factory(environ: Mapping[str, str]) -> Installation | None:
    python = shutil.which(environ.get("TRAINYARD_LLAMA_FACTORY_PYTHON") or sys.executable)
    found = None if python is None else _version(python, "llamafactory", environ)
    if python is None or found is None:
        return None
    return Installation(framework="llama-factory", python=python, home=None, version=found)


def _mindspeed_llm(environ: Mapping[str, str]) -> Installation | None:
    home = environ.get("TRAINYARD_MINDSPEED_LLM_HOME")
    python = shutil.which(environ.get("TRAINYARD_MINDSPEED_LLM_PYTHON") or sys.executable)
    if not home or python is None or not (Path(home) / "pretrain_gpt.py").is_file():
        return None
    found = _version(python, "mindspeed_llm", environ) or UNKNOWN
    return Installation(framework="mindspeed-llm", python=python, home=home, version=found)


_FINDERS = {"llama-factory": _llama_factory, "mindspeed-llm": _mindspeed_llm}


def _version(python: str, package: str, environ: Mapping[str, str]) -> str | None:
    if python == sys.executable:
        return _own_version(package)
    asked = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(
            [python, "-c", ASK, package],
            capture_output=True,
            text=True,
            timeout=ASK_SECONDS,
            env=asked,
            cwd="/",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _own_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
