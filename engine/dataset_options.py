"""The options about a dataset that `python -m engine preprocess` and `inspect` share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import get_args

from engine.formats import NAMES
from engine.formats.handlers import HANDLERS
from engine.spec import BrokenRows, ColumnNames, TagNames, TrainOn


def add_choices(verb: argparse.ArgumentParser) -> None:
    """What a `DatasetChoice` has besides path and format."""
    train_on, broken_rows = get_args(TrainOn), get_args(BrokenRows)
    verb.add_argument("--template", metavar="NAME", help="chat template to insist on (default: the tokenizer's own)")
    verb.add_argument("--train-on", choices=train_on, default=train_on[0], help="what is learnt of a conversation")
    verb.add_argument("--broken-rows", choices=broken_rows, default=broken_rows[0],
                      help="rows that cannot be read: refuse the dataset (default), or leave them out and count "
                      "them")  # fmt: skip
    for option, model in (("--columns", ColumnNames), ("--tags", TagNames)):
        names = ", ".join(model.model_fields)
        verb.add_argument(option, action="append", default=[], type=_pair(model), metavar="NAME=KEY",
                          help=f"what the file calls it: {names}; may be given several times")  # fmt: skip


def format_or_handler(name: str) -> str:
    """A format of ours or a handler of MindSpeed-LLM, as it was given. Raises ArgumentTypeError."""
    if name not in NAMES and name not in HANDLERS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join((*NAMES, *HANDLERS))}")
    return name


def _pair(model: type[ColumnNames | TagNames]) -> Callable[[str], tuple[str, str]]:
    def pair(text: str) -> tuple[str, str]:
        name, equals, key = text.partition("=")
        if not equals or not key or name not in model.model_fields:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=KEY with one of {', '.join(model.model_fields)}")
        return name, key

    return pair
