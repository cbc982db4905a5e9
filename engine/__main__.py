"""The command line: the whole journey without the site. `python -m engine --help`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine import inspect_verb, preprocess_verb
from engine.catalog import TABLES, Catalog, load
from engine.disk import tells_of_full_disk
from engine.frameworks.placeholders import cannot_start
from engine.plan import DeviceNeed, Plan
from engine.planner import Unplannable, Verdict, check, plan
from engine.planner.estimates import with_estimates
from engine.planner.survey import of_devices, of_model, unknown
from engine.problem_texts import known
from engine.problems import LANGUAGES, Problem
from engine.readable import plan_text, verdict_text
from engine.readable.survey import grid_json, grid_text, shelf_json, shelf_text
from engine.run_folder import RunFolder
from engine.runner.preparation import with_absolute_paths
from engine.spec import canonical_json

DONE, WRONG, STOPPED = 0, 2, 130
UNREAD = 141
"""128 + SIGPIPE, as a shell would report it."""
EXIT_CODES = "exit codes: 0 done, 2 the request is wrong, 3 it failed while running, 130 stopped"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no Chinese is no reason to fail
    options = _parser().parse_args(arguments)
    try:
        code = _verb(options)
        sys.stdout.flush()  # here, where a reader that has left is caught
        return code
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:  # whoever read our output has had enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m engine",
        description="Check, plan and run training jobs.",
        epilog=EXIT_CODES,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_verb(verbs, "check", "say everything that is wrong with a request, and what would fit")
    _add_verb(verbs, "plan", "show every decision about a request, with reasons and commands")
    run = _add_verb(verbs, "run", "check, plan and run a request; running it again takes up where it was left")
    run.add_argument("--run-dir", required=True, type=Path, metavar="DIR", help="folder of the run; made if missing")
    _add_fits(verbs)
    _add_language(preprocess_verb.add(verbs))
    _add_language(inspect_verb.add(verbs))
    return parser


def _add_fits(verbs: Any) -> None:
    purpose = "show what fits: for a model on all hardware, or for the devices that one has"
    fits: argparse.ArgumentParser = verbs.add_parser("fits", help=purpose, description=f"{purpose}.", epilog=EXIT_CODES)
    question = fits.add_mutually_exclusive_group(required=True)
    question.add_argument("--model", help="a row of the model table, such as llama3.1-8b")
    question.add_argument("--hardware", help="a row of the hardware table: snt9b, snt9b23, cuda, cpu")
    fits.add_argument("--devices", type=_count, default=1, metavar="N", help="with --hardware: how many (default: 1)")
    fits.add_argument("--json", action="store_true", help="print JSON")
    _add_common(fits)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _add_verb(verbs: Any, name: str, purpose: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.", epilog=EXIT_CODES
    )
    parser.add_argument("spec", metavar="SPEC.json", help="the request, as JSON; - reads standard input")
    if name != "run":
        parser.add_argument(
            "--no-files", action="store_true", help="do not look at dataset and weights (they are on another machine)"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")
    _add_common(parser)
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--catalog", type=Path, default=TABLES, metavar="DIR", help="folder with the resource tables (default: our own)"
    )
    _add_language(parser)


def _add_language(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--language", choices=LANGUAGES, default=known(_locale()), help="of messages (default: the terminal's)"
    )


def _locale() -> str:
    return os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or "en"


def _verb(options: argparse.Namespace) -> int:
    if options.verb == "preprocess":
        return preprocess_verb.run(options)
    if options.verb == "inspect":
        return inspect_verb.run(options)
    try:
        catalog = with_estimates(load(options.catalog))
    except (OSError, ValueError) as error:
        return _say(_refusal("catalog.unreadable", error=str(error)), options)
    if options.verb == "fits":
        return _fits(catalog, options)
    data = _read(options.spec)
    if isinstance(data, Problem):
        return _say(_refusal_of(data), options)
    verdict = check(data, catalog, files=options.verb == "run" or not options.no_files)
    if options.verb == "check" or verdict.spec is None or not verdict.fits:
        return _say(verdict, options)
    try:
        asked = with_absolute_paths(verdict.spec)  # commands of the plan name files
        made = plan(asked, catalog)
    except Unplannable as refusal:
        return _say(verdict.model_copy(update={"problems": refusal.problems}), options)
    if options.verb == "run" and verdict.problems:
        _say(verdict, options)
    return _run(verdict, made, options) if options.verb == "run" else _show(made, options)


def _fits(catalog: Catalog, options: argparse.Namespace) -> int:
    language = options.language
    problem = unknown(catalog, model=options.model, hardware=options.hardware)
    if problem is not None:
        return _say(_refusal_of(problem), options)
    if options.model is not None:
        grid = of_model(catalog, options.model)
        return _print(options, grid_json(grid, language), grid_text(grid, language))
    shelf = of_devices(catalog, options.hardware, options.devices)
    _print(options, shelf_json(shelf, language), shelf_text(shelf, language))
    return WRONG if shelf.problems else DONE


def _print(options: argparse.Namespace, data: dict[str, Any], text: str) -> int:
    print(json.dumps(data, ensure_ascii=False, indent=2) if options.json else text)
    return DONE


def _read(name: str) -> Any:
    """The JSON value of a file or of standard input; a Problem if there is none."""
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return json.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return Problem(code="spec.unreadable", field="", parameters={"path": name, "error": reason})
    except json.JSONDecodeError as error:
        parameters = {"line": error.lineno, "column": error.colno, "error": error.msg}
        return Problem(code="spec.not_json", field="", parameters=parameters)
    except (ValueError, RecursionError) as error:  # not UTF-8; a number of thousands of digits; nested too deep
        return Problem(code="spec.unreadable", field="", parameters={"path": name, "error": str(error)[:200]})


def _refusal(code: str, **parameters: str) -> Verdict:
    return _refusal_of(Problem(code=code, field="", fault="site", parameters={**parameters}))


def _refusal_of(problem: Problem) -> Verdict:
    return Verdict(spec=None, problems=(problem,), devices=DeviceNeed(table=None, unsupported=False))


def _say(verdict: Verdict, options: argparse.Namespace) -> int:
    """Print a verdict: to standard output as the answer of `check`, else as a refusal to standard error."""
    if getattr(options, "json", False):
        print(json.dumps(verdict.to_json(options.language), ensure_ascii=False, indent=2))
    else:
        print(verdict_text(verdict, options.language), file=sys.stdout if options.verb == "check" else sys.stderr)
    return DONE if verdict.fits else WRONG


def _show(made: Plan, options: argparse.Namespace) -> int:
    print(canonical_json(made) if options.json else plan_text(made, options.language) + "\n", end="")
    return DONE


def _run(verdict: Verdict, made: Plan, options: argparse.Namespace) -> int:
    from engine.runner import AlreadyRunning, FolderInUse, prepare, run_in_terminal

    assert verdict.spec is not None
    if (problem := cannot_start(made.stages, os.environ)) is not None:
        return _say(_refusal_of(problem), options)
    folder = RunFolder(options.run_dir)
    try:
        prepare(folder, verdict.spec, made)
        return run_in_terminal(folder, language=options.language)
    except (FolderInUse, AlreadyRunning, OSError) as error:
        if tells_of_full_disk(error):
            return _say(_refusal("disk.full", reason=str(error)), options)
        return _say(_refusal("run_dir.unusable", path=str(folder.path), error=str(error)), options)


if __name__ == "__main__":
    sys.exit(main())
