"""Commands as they are shown: copied into a shell, they are the words that the plan has."""

from __future__ import annotations

import subprocess

import pytest

from engine.catalog import load
from engine.plan import Command
from engine.planner import plan
from engine.readable.commands import command_text
from engine.spec import JobSpec
from tests.engine.asked import request

CATALOG = load()
PATHS = (
    "models/a b",
    '/d/it\'s "q" $HOME `x` ; & | > < * ? [a] \\ end',
    "模型/文件",
    "/d/{a,b}/{1..3}",
    "~/m",
    "/d/#x !y",
)


def words(text: str) -> list[str]:
    """What a shell makes of it."""
    said = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, text=True, check=True).stdout
    return said.split("\0")[:-1]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("framework", ["mindspeed-llm", "llama-factory"])
def test_a_command_can_be_copied_whatever_the_folders_name(path: str, framework: str) -> None:
    spec = JobSpec.model_validate(request(model_path=path, framework=framework, devices=16))
    commands = [command for stage in plan(spec, CATALOG).stages for command in stage.commands]
    assert commands
    for command in commands:
        bare = command.model_copy(update={"cwd": None})
        assert words(command_text(bare)) == [*(f"{name}={value}" for name, value in command.env.items()), *command.argv]


def test_the_folder_of_a_command_is_quoted_too() -> None:
    text = command_text(Command(argv=("ls", "x"), env={}, cwd="/a b/{c,d}"))
    assert text == "cd '/a b/{c,d}'\nls x"
