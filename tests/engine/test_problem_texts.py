"""Every code that the source can say has a text in both languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from engine import problem_texts
from engine.plan import Reason
from engine.problems import LANGUAGES, Problem
from engine.texts.entry import Text

ROOT = Path(__file__).parents[2]
ROOMS = ("engine", "jobs", "webui")
MAKERS = {"Problem": "code", "Failure": "code", "Reason": "code", "_problem": "code", "Broken": "reason"}
MAKERS |= {"RowError": "reason", "_refusal": "code"}
CODE = re.compile(r"[a-z_0-9]+(\.[a-z_0-9]+)+")
ALL = {**problem_texts.PROBLEMS, **problem_texts.REASONS}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("code", ALL)
def test_a_text_is_in_both_languages_with_the_same_placeholders(code: str) -> None:
    text: Text = ALL[code]
    assert text.en.strip()
    assert text.zh.strip()
    assert bool(text.en_remedy) == bool(text.zh_remedy)
    assert placeholders(text.en) == placeholders(text.zh)
    assert placeholders(text.en_remedy) <= placeholders(text.zh_remedy) | placeholders(text.zh)
    assert placeholders(text.zh_remedy) <= placeholders(text.en_remedy) | placeholders(text.en)


@pytest.mark.parametrize("code", ALL)
def test_the_chinese_text_is_chinese(code: str) -> None:
    text = ALL[code]
    for chinese, english in ((text.zh, text.en), (text.zh_remedy, text.en_remedy)):
        assert not english or re.search(r"[\u4e00-\u9fff]", chinese), code
        assert not re.search(r"[\u4e00-\u9fff]", english), code


def codes(path: Path) -> Iterator[tuple[str, int]]:
    """Every string in the place of a code in a call that makes a finding, and where a name of it is set."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in MAKERS:
                given = [keyword.value for keyword in node.keywords if keyword.arg == MAKERS[name]]
                for value in given or node.args:
                    yield from strings(value)
        elif isinstance(node, ast.Assign):
            targets = ast.unparse(node.targets[0])
            if re.search(r"\bcode\b", targets):
                yield from strings(node.value)


def strings(node: ast.AST) -> Iterator[tuple[str, int]]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and CODE.fullmatch(part.value):
            yield part.value, part.lineno


def test_every_code_in_the_source_has_a_text() -> None:
    found: dict[str, str] = {}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            if "texts" not in path.parts:
                found |= {code: f"{path.relative_to(ROOT)}:{line}" for code, line in codes(path)}
    fields = ("train.", "model_path")
    missing = {
        code: place
        for code, place in found.items()
        if code not in ALL and not (code.startswith(fields) and "train.wrong" not in code)
    }
    assert len(found) > 40, "the search finds nothing any more"
    assert not missing


def test_the_tables_of_codes_have_texts_too() -> None:
    from engine.planner.shape import _LIMITS, _NUMBERS
    from engine.tables_csv import ONE_DIE, OTHER_PAGES, SWAPPED

    for code in (*_NUMBERS.values(), *(code for code, _ in _LIMITS.values()), SWAPPED, ONE_DIE, OTHER_PAGES):
        assert code in problem_texts.PROBLEMS
    assert {f"{ONE_DIE}.short", f"{SWAPPED}.short", f"{OTHER_PAGES}.short"} <= set(problem_texts.REASONS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_row_says_its_reason_within_the_problem(language: str) -> None:
    parameters = {"path": "a.json", "line": 3, "why": "row.missing_key", "key": "output", "count": 1, "rows": 2}
    text = problem_texts.message(
        Problem(code="dataset.broken_rows", field="", parameters={**parameters, "lines": "3"}), language
    )
    assert "output" in text
    assert "?" not in text
    assert "row.missing_key" not in text


def test_a_problem_of_another_release_is_shown_all_the_same() -> None:
    assert problem_texts.message(Problem(code="no.such_code", field=""), "en") == "no.such_code"
    assert "?" in problem_texts.message(Problem(code="devices.step", field=""), "en")
    assert problem_texts.remedy(Problem(code="no.such_code", field=""), "zh-hans") == ""
    assert problem_texts.reason(Reason(decision="x", code="none"), "en") == "none"


@pytest.mark.parametrize(("asked", "given"), [("zh_CN.UTF-8", "zh-hans"), ("zh-hans", "zh-hans"), ("fr", "en")])
def test_a_language_is_one_of_the_two(asked: str, given: str) -> None:
    assert problem_texts.known(asked) == given
