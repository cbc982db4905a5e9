"""Parsers as upstream's programs have them, made from the recorded option tables: an unknown option is an error."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

from engine.frameworks.mindspeed_llm.profiles.options import TRAIN, Option, options
from engine.plan import Command, Stage

TYPES: dict[str, Any] = {"int": int, "float": float, "bool": bool}
PROGRAMS = ("preprocess_data.py", "convert_ckpt.py", "convert_ckpt_v2.py", "pretrain_gpt.py", "posttrain_gpt.py")


class Rejected(AssertionError):
    """What upstream's parser would have said."""


class Strict(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Rejected(message)


@cache
def parser(program: str, release: str) -> Strict:
    """program: TRAIN, or as in tool_options.csv."""
    made = Strict(allow_abbrev=False, add_help=False)
    for option in options(program, release).values():
        made.add_argument(option.name, **_words(option))
    return made


def _words(option: Option) -> dict[str, Any]:
    if option.action != "store":
        return {"action": option.action}
    words: dict[str, Any] = {"type": TYPES.get(option.type, str), "nargs": option.nargs or None}
    return {**words, "choices": option.choices} if option.choices else words


def program_of(command: Command) -> tuple[str, list[str]] | None:
    """The upstream program that a command starts, and the words behind it; None for a step of our own."""
    place = next((number for number, word in enumerate(command.argv) if word in PROGRAMS), None)
    return None if place is None else (command.argv[place], list(command.argv[place + 1 :]))


def parsed(command: Command, release: str) -> tuple[str, argparse.Namespace] | None:
    """Program and values. Raises Rejected."""
    found = program_of(command)
    if found is None:
        return None
    program, words = found
    return program, parser(_table(program, words), release).parse_args(words)


def of_stage(stages: Sequence[Stage], name: str, release: str) -> argparse.Namespace:
    """The values that the upstream program of a stage is told."""
    stage = next(stage for stage in stages if stage.name == name)
    found = [made for command in stage.commands if (made := parsed(command, release)) is not None]
    assert len(found) == 1
    return found[0][1]


def _table(program: str, words: list[str]) -> str:
    if program.endswith("train_gpt.py"):
        return TRAIN
    if program == "convert_ckpt.py":
        return f"{program}:{words[words.index('--load-model-type') + 1]}"
    return program
