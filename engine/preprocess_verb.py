"""`python -m engine preprocess`: tokenise a dataset into files that Megatron-LM and MindSpeed-LLM read.

The parameters have MindSpeed-LLM's names. The work is done by `engine.preprocess.alone`, a process of its own that
takes this one's place.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from engine.dataset_options import add_choices, format_or_handler
from engine.formats import NAMES
from engine.formats.handlers import HANDLERS

PURPOSE = "tokenise a dataset into .bin and .idx files, as MindSpeed-LLM's preprocess_data.py does"
EXIT_CODES = "exit codes: 0 done, 2 the request is wrong, 3 it failed while running, 130 stopped"
FILES = """\
fine-tuning writes PREFIX_packed_{input_ids,attention_mask,labels}_document.{bin,idx}, pretraining
PREFIX_text_document.{bin,idx}; PREFIX_report.json says what became of every row. The same data is never prepared
twice: run again, it is taken from the cache, or goes on where it was interrupted.
"""
LEAST_LENGTH, MOST_LENGTH = 8, 10_000_000


def add(verbs: Any) -> argparse.ArgumentParser:
    """The verb's arguments; the language is added by the caller."""
    verb: argparse.ArgumentParser = verbs.add_parser(
        "preprocess",
        help=PURPOSE,
        description=f"{PURPOSE[0].upper()}{PURPOSE[1:]}.",
        epilog=f"{FILES}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument(
        "--input", required=True, type=_some, metavar="PATH", help="a file, a folder, or a pattern in quotes"
    )
    verb.add_argument("--output-prefix", required=True, type=Path, metavar="PREFIX",
                      help="folder and begin of the output's names; the folder is made if missing")  # fmt: skip
    verb.add_argument("--tokenizer-name-or-path", required=True, metavar="DIR",
                      help="folder of the model or of its tokenizer; nothing is fetched from a network")  # fmt: skip
    verb.add_argument("--tokenizer-type", choices=("PretrainedFromHF",), default="PretrainedFromHF",
                      help="accepted for scripts; there is no other")  # fmt: skip
    verb.add_argument("--seq-length", type=_length, default=4096, metavar="N",
                      help="conversations are cut, or packed, to so many tokens (default: 4096); documents stay "
                      "whole")  # fmt: skip
    verb.add_argument("--workers", type=_count, metavar="N", help="processes (default: as many as there are cores)")
    verb.add_argument("--log-interval", type=_count, default=10_000, metavar="N",
                      help="rows between two lines about the progress (default: 10000)")  # fmt: skip
    _add_data(verb)
    verb.add_argument("--cache-dir", type=Path, metavar="DIR",
                      help="where finished sets are shared (default: $TRAINYARD_CACHE_DIR, else .cache beside the "
                      "output)")  # fmt: skip
    return verb


def _add_data(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--format", "--handler-name", type=format_or_handler, default="alpaca", metavar="NAME",
                      dest="handler", help=f"{', '.join(NAMES)}, or a handler of MindSpeed-LLM: {', '.join(HANDLERS)} "
                      "(default: alpaca)")  # fmt: skip
    verb.add_argument("--stage", choices=("pretrain", "sft"),
                      help="pretrain takes the text of each row as a document, sft learns the answers (default: "
                      "pretrain for text and for handlers of pretraining, else sft)")  # fmt: skip
    verb.add_argument("--packing", "--pack", "--neat-pack", action="store_true",
                      help="put several samples into one sequence; the attention mask counts them, and they never see "
                      "each other")  # fmt: skip
    verb.add_argument("--append-eod", action="store_true", help="accepted for scripts; documents always end with it")
    add_choices(verb)


def _some(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


def _length(text: str) -> int:
    number = int(text)
    if not LEAST_LENGTH <= number <= MOST_LENGTH:
        raise argparse.ArgumentTypeError(f"{text} is not between {LEAST_LENGTH} and {MOST_LENGTH}")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def run(options: argparse.Namespace) -> int:
    """Hand over to the process that has the libraries; does not return."""
    ours = str(Path(__file__).resolve().parents[1])
    search = os.pathsep.join(filter(None, [ours, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": search, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "engine.preprocess.alone", json.dumps(request(options))]
    sys.stdout.flush()
    os.execve(sys.executable, command, environment)


def request(options: argparse.Namespace) -> dict[str, Any]:
    """What `engine.preprocess.alone` reads."""
    handler: str = options.handler
    chosen = HANDLERS.get(handler, handler)
    documents = chosen == "text" or "Pretrain" in handler
    return {
        "dataset": {
            "path": options.input,
            "format": chosen,
            "columns": dict(options.columns),
            "tags": dict(options.tags),
            "template": options.template,
            "train_on": options.train_on,
            "broken_rows": options.broken_rows,
        },
        "tokenizer": options.tokenizer_name_or_path,
        "stage": options.stage or ("pretrain" if documents else "sft"),
        "seq_length": options.seq_length,
        "packing": options.packing,
        "prefix": str(options.output_prefix.absolute()),
        "cache": options.cache_dir and str(options.cache_dir.absolute()),
        "workers": options.workers,
        "log_interval": options.log_interval,
        "language": options.language,
    }
