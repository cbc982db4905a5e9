"""Going on from a checkpoint: what can be known before the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.catalog import load
from engine.planner import Verdict, check
from engine.planner.files import checkpoint
from engine.problems import Problem
from tests.engine.asked import native, request

CATALOG = load()
PLACE = "train.resume.checkpoint_path"
LATEST = "latest_checkpointed_iteration.txt"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """As MindSpeed-LLM leaves it: iterations 10 and 20, and the file that names the newest."""
    for number in (10, 20):
        folder = tmp_path / "saved" / f"iter_{number:07d}"
        folder.mkdir(parents=True)
        (folder / "mp_rank_00").mkdir()
    (tmp_path / "saved" / LATEST).write_text("20\n")
    return tmp_path / "saved"


def found(path: Path, framework: str = "mindspeed-llm", roots: list[Path] | None = None) -> list[Problem]:
    return list(checkpoint.problems(str(path), framework, roots))


def codes(path: Path, framework: str = "mindspeed-llm") -> list[str]:
    return [problem.code for problem in found(path, framework)]


def test_the_folder_or_the_iteration_that_will_be_loaded_is_right(saved: Path) -> None:
    assert codes(saved) == []
    assert codes(saved / "iter_0000020") == []


def test_another_iteration_than_the_named_one_is_refused_with_the_number_to_write(saved: Path) -> None:
    [problem] = found(saved / "iter_0000010")
    assert problem.code == "resume.other_iteration"
    assert problem.parameters["wanted"] == 10
    (saved / LATEST).write_text("10")
    assert codes(saved / "iter_0000010") == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "resume.no_latest"),
        ("release", "resume.bad_latest"),
        ("", "resume.bad_latest"),
        ("³", "resume.bad_latest"),
        ("30", "resume.no_iteration"),
    ],
)
def test_the_file_that_names_the_iteration_is_looked_at(saved: Path, text: str | None, code: str) -> None:
    (saved / LATEST).unlink()
    if text is not None:
        (saved / LATEST).write_text(text)
    [problem] = found(saved)
    assert problem.code == code
    assert problem.parameters["there"] == "10, 20"


def test_an_empty_iteration_counts_as_missing(saved: Path) -> None:
    (saved / "iter_0000020" / "mp_rank_00").rmdir()
    assert codes(saved) == ["resume.no_iteration"]


def test_a_folder_that_is_not_there_or_not_allowed_is_refused(saved: Path, tmp_path: Path) -> None:
    assert codes(tmp_path / "nowhere") == ["resume.missing"]
    assert codes(saved / LATEST) == ["resume.missing"]
    assert [problem.code for problem in found(saved, roots=[tmp_path / "other"])] == ["path.outside"]


def test_llama_factory_wants_one_whole_checkpoint(tmp_path: Path) -> None:
    step = tmp_path / "out" / "checkpoint-500"
    step.mkdir(parents=True)
    (step / "model.safetensors").write_bytes(b"x")
    assert codes(step, "llama-factory") == ["resume.no_state"]
    (step / "trainer_state.json").write_text("{}")
    assert codes(step, "llama-factory") == []
    [problem] = found(tmp_path / "out", "llama-factory")
    assert problem.code == "resume.folder_of_steps"
    assert problem.nearest == {PLACE: str(step)}


def resumed(data: dict[str, Any], path: object, **resume: bool) -> Verdict:
    data["train"]["resume"] = {"checkpoint_path": str(path), **resume}
    return check(data, CATALOG, files=True)


def on_resume(verdict: Verdict) -> dict[str, str]:
    return {problem.code: problem.severity for problem in verdict.problems if problem.field == PLACE}


def test_which_path_wins_is_said(saved: Path) -> None:
    assert on_resume(resumed(request(), saved)) == {"resume.recovery_first": "note"}
    assert on_resume(resumed(request(), saved, auto_recovery=False)) == {"resume.fresh_folder": "note"}


def test_mindspeed_lora_and_our_own_engine_refuse_every_checkpoint(saved: Path) -> None:
    adapters = on_resume(resumed(request(train__strategy="lora"), saved))
    assert adapters["resume.not_with_lora"] == "error"
    assert on_resume(resumed(native(), saved / "nowhere")) == {"resume.not_yet": "error"}
