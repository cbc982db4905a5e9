"""The documents say what is so: links lead somewhere, names exist, examples run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.__main__ import _parser as command_line
from engine.catalog import load
from engine.planner import check
from engine.spec import JobSpec
from tests.source import ROOMS, ROOT

DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
READMES = [ROOT / "README.md", ROOT / "README.zh.md"]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.json"))
FOREIGN_NAMES = {"POSTGRES_PASSWORD"}
"""Environment names of other software that the documents speak of."""


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def by_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def code_blocks(path: Path) -> list[tuple[str, str]]:
    """(language, content) of every fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text(path), re.MULTILINE | re.DOTALL)


def commands(path: Path) -> Iterator[str]:
    """Command lines: in blocks those behind `$ `, and whole inline code that begins with a command of ours."""
    for _, block in code_blocks(path):
        for line in block.splitlines():
            if line.startswith(("$ ", ".venv/bin/python", "make ")):
                yield line.removeprefix("$ ").split("  #")[0].strip()
    for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text(path)):
        if code.startswith((".venv/bin/python ", "make ", "manage.py ", "python -m engine ")):
            yield code


ALL_COMMANDS = sorted({(by_name(path), command) for path in DOCUMENTS for command in commands(path)})


def commands_of(*starts: str) -> list[str]:
    return sorted({command for _, command in ALL_COMMANDS if command.startswith(starts)})


@pytest.mark.parametrize("path", DOCUMENTS, ids=by_name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", text(path))
    relative = [link.split("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]
    assert [link for link in relative if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=by_name)
def test_named_files_exist(path: Path) -> None:
    """Inline code that looks like a path of this checkout is one."""
    named = re.findall(r"`((?:engine|jobs|webui|tests|static|docs|benchmarks)/[\w./-]*)`", text(path))
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=by_name)
def test_environment_names_exist_in_the_code(path: Path) -> None:
    named = set(re.findall(r"\b(?:TRAINYARD_[A-Z_]+|[A-Z]+_URL)\b", text(path)))
    sources = [file for room in (*ROOMS, "tests") for kind in ("*.py", "*.sh") for file in (ROOT / room).rglob(kind)]
    code = "\n".join(text(file) for file in sources if file != Path(__file__))
    assert [name for name in sorted(named - FOREIGN_NAMES) if name not in code] == []


def test_operations_describe_every_environment_name_of_the_settings() -> None:
    docstring = text(ROOT / "webui" / "settings.py").split('"""')[1]
    names = set(re.findall(r"^([A-Z]+_[A-Z_]+|TZ) ", docstring, re.MULTILINE))
    read = set(re.findall(r"""(?:environ\.get\(|env_flag\(|env_list\()\s*"(\w+)""", text(ROOT / "webui/settings.py")))
    table = set(re.findall(r"^\| `(\w+)` \|", text(ROOT / "docs" / "operations.md"), re.MULTILINE))
    assert read <= names, "settings read a name that their own list lacks"
    assert names == table


def test_both_readmes_show_the_same() -> None:
    """Same pictures, blocks, tables and sections, in the same order."""

    def skeleton(path: Path) -> list[str]:
        return re.findall(r"^(#+ |!\[|```\w*|\|(?=[^-\n]))", text(path), re.MULTILINE)

    assert skeleton(READMES[0]) == skeleton(READMES[1])


@pytest.mark.parametrize("path", READMES, ids=by_name)
def test_the_first_screen_has_the_picture_and_both_commands(path: Path) -> None:
    first = "\n".join(text(path).splitlines()[:12])
    assert "](docs/images/job-page.png)" in first
    assert "make demo" in first
    assert "make test" in first


def test_pictures_are_small() -> None:
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.stat().st_size < 250_000, picture


@pytest.mark.parametrize("command", commands_of("make "))
def test_make_knows_the_target(command: str) -> None:
    target = shlex.split(command)[1]
    assert re.search(rf"^{re.escape(target)}:", text(ROOT / "Makefile"), re.MULTILINE)
    options = re.search(r'ARGS="([^"]*)"', command)
    if options is not None:
        from webui.management.commands.demo import Command

        Command().create_parser("manage.py", "demo").parse_args(shlex.split(options[1]))


@pytest.mark.parametrize("command", commands_of(".venv/bin/python -m engine ", "python -m engine "))
def test_the_command_line_takes_the_example(command: str) -> None:
    words = shlex.split(command.split("python -m engine", 1)[1])
    options = command_line().parse_args(words)
    spec = getattr(options, "spec", "-")  # `fits` takes none
    assert spec == "-" or (ROOT / spec).exists()


@pytest.mark.parametrize("command", commands_of("manage.py", ".venv/bin/python manage.py"))
def test_django_knows_the_command_and_its_options(command: str) -> None:
    from django.core.management import get_commands, load_command_class

    words = shlex.split(command.split("manage.py", 1)[1])
    room = get_commands()[words[0]]
    assert isinstance(room, str)
    load_command_class(room, words[0]).create_parser("manage.py", words[0]).parse_args(words[1:])


@pytest.mark.parametrize("path", EXAMPLES, ids=by_name)
def test_an_example_is_a_request(path: Path) -> None:
    verdict = check(json.loads(text(path)), load())
    assert verdict.spec is not None, verdict.problems


@pytest.mark.parametrize("path", READMES, ids=by_name)
def test_the_request_in_the_readme_fits(path: Path) -> None:
    [block] = [content for language, content in code_blocks(path) if language == "json"]
    verdict = check(JobSpec.model_validate_json(block), load())
    assert verdict.fits, verdict.problems


@pytest.mark.parametrize("path", READMES, ids=by_name)
def test_the_output_shown_is_the_output(path: Path) -> None:
    """Console blocks of `check` and `plan` are run, and compared to the letter."""
    compared = 0
    for language, block in code_blocks(path):
        command, _, rest = block.partition("\n")
        if language != "console" or not re.search(r"-m engine (check|plan)", command):
            continue
        shown, _, code = rest.partition("$ echo $?\n")
        words = shlex.split(command.removeprefix("$ "))
        language_asked = [] if "--language" in words else ["--language", "en"]
        done = subprocess.run(
            [sys.executable, *words[1:], *language_asked], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.stdout == shown
        assert done.returncode == int(code or 0)
        compared += 1
    assert compared == 2


@pytest.mark.parametrize("name", ["training_loop", "sockets"])
def test_a_comparison_explains_itself(name: str) -> None:
    shown = subprocess.run(
        [sys.executable, f"benchmarks/{name}.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert f"benchmarks/{name}.py" in text(ROOT / "benchmarks" / "README.md")
