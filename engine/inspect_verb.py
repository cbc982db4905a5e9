"""`python -m engine inspect`: asks `engine.inspection`, a process of its own, and shows what it says."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.dataset_options import add_choices, format_or_handler
from engine.dataset_report import DatasetReport, RowView
from engine.formats import NAMES
from engine.formats.handlers import HANDLERS
from engine.problem_texts import message, remedy
from engine.problems import Problem
from engine.readable.dataset import report_text, row_view_text
from engine.run_folder import write_atomic

PURPOSE = "read a dataset as training would: what became of each row, and what the model will see of it"
EXIT_CODES = "exit codes: 0 the dataset is usable, 2 it is not, 3 it failed while running, 130 stopped"
_WRONG, _FAILED = 2, 3


def add(verbs: Any) -> argparse.ArgumentParser:
    """The verb's arguments; the language is added by the caller."""
    verb: argparse.ArgumentParser = verbs.add_parser(
        "inspect", help=PURPOSE, description=f"{PURPOSE[0].upper()}{PURPOSE[1:]}.", epilog=EXIT_CODES
    )
    verb.add_argument("--input", required=True, metavar="PATH", help="a file, a folder, or a pattern in quotes")
    verb.add_argument("--format", "--handler-name", type=_format, metavar="NAME", dest="format",
                      help=f"{', '.join(NAMES)}, or MindSpeed-LLM's handler (default: by the first rows)")  # fmt: skip
    verb.add_argument("--tokenizer-name-or-path", metavar="DIR", help="folder of the model or of its tokenizer")
    verb.add_argument("--seq-length", type=_length_from(8), metavar="N", help="cut rows to so many tokens")
    add_choices(verb)
    _add_answers(verb)
    return verb


def _add_answers(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--row", type=_length_from(1), metavar="N", help="show this row instead, counted from 1")
    verb.add_argument("--first-token", type=_length_from(0), default=0, metavar="K", help="with --row, from 0")
    verb.add_argument("--tokens", type=_length_from(0), default=2000, metavar="M", help="with --row: how many")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.add_argument("--output", type=Path, metavar="FILE",
                      help="write the report as JSON, and the list of dropped rows beside it")  # fmt: skip
    verb.add_argument("--progress", action="store_true", help="a line of JSON a second on standard error")
    verb.add_argument("--root", action="append", type=Path, metavar="DIR",
                      help="open nothing outside of this folder; may be given several times")  # fmt: skip
    verb.add_argument("--cache-dir", type=Path, default=_cache(), metavar="DIR",
                      help="where the places of rows are kept (default: the user's cache)")  # fmt: skip


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(os.environ.get("HOME", "/tmp"), ".cache")) / "trainyard" / "rows"


def _format(name: str) -> str:
    return HANDLERS.get(format_or_handler(name), name)


def _length_from(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not least <= value <= 10_000_000:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and 10000000")
        return value

    return number


def run(options: argparse.Namespace) -> int:
    """Ask, show, and pass on the exit code."""
    if options.output is not None and not options.output.parent.is_dir():
        problem = Problem(code="output.no_folder", field="output", parameters={"path": str(options.output.parent)})
        return _problems([problem], options, _WRONG)
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.inspection"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        said, _ = process.communicate(json.dumps(_request(options)).encode("utf-8", "surrogateescape"))
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    text = said.decode()
    if process.returncode == 130:
        raise KeyboardInterrupt
    if not text.strip():  # killed from outside, most often for want of memory
        reason = f"exit code {process.returncode}"
        return _problems([Problem(code="inspection.died", field="", parameters={"reason": reason})], options, _FAILED)
    return _show(text, process.returncode, options)


def _environment() -> dict[str, str]:
    """The engine is found wherever this was started."""
    ours = str(Path(__file__).resolve().parents[1])
    search = os.pathsep.join(filter(None, [ours, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": search, "HF_HUB_OFFLINE": "1"}


def _request(options: argparse.Namespace) -> dict[str, Any]:
    output: Path | None = options.output
    return {
        "input": options.input,
        "format": options.format,
        "tokenizer": options.tokenizer_name_or_path,
        "template": options.template,
        "train_on": options.train_on,
        "broken_rows": options.broken_rows,
        "columns": dict(options.columns),
        "tags": dict(options.tags),
        "seq_length": options.seq_length,
        "roots": options.root and [str(root) for root in options.root],
        "cache": str(options.cache_dir),
        "drops": None if output is None or options.row else str(output.with_suffix(".drops.jsonl").absolute()),
        "progress": options.progress,
        "row": options.row,
        "first_token": options.first_token,
        "most_tokens": options.tokens,
    }


def _show(text: str, code: int, options: argparse.Namespace) -> int:
    value = json.loads(text)
    if "report_version" not in value and "view_version" not in value:
        return _problems([Problem.model_validate(one) for one in value["problems"]], options, code)
    if options.output is not None:
        try:
            _write(options.output, text)
        except OSError as error:
            found = {"path": str(options.output), "reason": error.strerror or str(error)}
            return _problems([Problem(code="output.unwritable", field="output", parameters=found)], options, _FAILED)
    if options.json:
        print(text, end="")
    elif "report_version" in value:
        print(report_text(DatasetReport.model_validate(value), options.language))
    else:
        print(row_view_text(RowView.model_validate(value), options.language))
    return code


def _write(output: Path, text: str) -> None:
    """Whole or not at all; what is no file, such as /dev/null, stays what it is."""
    if output.exists() and not output.is_file():
        output.write_text(text, encoding="utf-8")
    else:
        write_atomic(output, text)


def _problems(problems: list[Problem], options: argparse.Namespace, code: int) -> int:
    if options.json:
        print(json.dumps({"problems": [problem.model_dump(mode="json") for problem in problems]}))
        return code
    for problem in problems:
        print(message(problem, options.language), remedy(problem, options.language), file=sys.stderr)
    return code
