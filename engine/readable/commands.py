"""A command as a shell would take it: short ones on a line, long ones with an option on each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from engine.plan import Command

WIDTH = 100
"""Characters beyond which a command is broken into lines."""
_PLAIN = re.compile(r"([\w@%+=:,./-]|\{\w+\})+")
"""Braces around a name alone: a shell makes two words of {a,b}."""
_CONTINUED = " \\\n    "


def command_text(command: Command) -> str:
    """Folder, environment and words; places for the runner to fill in stay as they are."""
    parts = [f"{name}={_word(value)}" for name, value in command.env.items()] + list(_parts(command.argv))
    line = " ".join(parts)
    text = line if len(line) <= WIDTH else _CONTINUED.join(parts)
    return text if command.cwd is None else f"cd {_word(command.cwd)}\n{text}"


def _parts(argv: tuple[str, ...]) -> Iterator[str]:
    """The program with its module, then each option with its values."""
    part: list[str] = []
    for number, word in enumerate(argv):
        if word.startswith("-") and number > 1:
            yield " ".join(part)
            part = []
        part.append(_word(word))
    if part:
        yield " ".join(part)


def _word(word: str) -> str:
    return word if _PLAIN.fullmatch(word) else shlex.quote(word)
