"""Which options the programs of a release know, as their own parsers told.

train_options.csv: every option of `pretrain_gpt.py` and `posttrain_gpt.py`, recorded by running the parsers of
MindSpeed-LLM 2.3.0, 26.1.0 and master (August 2026) and writing down what they had. tool_options.csv: the options
of `preprocess_data.py` and of the converters that matter here, read in their sources; `convert_ckpt.py:hf` are the
ones that its loader of Hugging Face weights adds, `:mg` those of its loader of Megatron checkpoints. The column
`absent` names the releases without the option.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
TRAIN = "train"


@dataclass(frozen=True)
class Option:
    """One option of a program, as argparse has it."""

    name: str
    action: str
    """store, store_true or store_false."""
    type: str
    """int, float, str or bool; empty for another one."""
    nargs: str
    choices: tuple[str, ...]


@cache
def options(program: str, release: str) -> dict[str, Option]:
    """By name. program: TRAIN, or as in tool_options.csv."""
    if program == TRAIN:
        lines = _lines("train_options")
    else:
        wanted = {program, program.split(":")[0]}
        lines = [line for line in _lines("tool_options") if line["tool"] in wanted]
    return {line["option"]: _option(line) for line in lines if release not in line["absent"].split("|")}


@cache
def _lines(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _option(line: dict[str, str]) -> Option:
    choices = tuple(line["choices"].split("|")) if line["choices"] else ()
    return Option(line["option"], line["action"], line["type"], line["nargs"], choices)
