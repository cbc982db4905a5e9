"""The house keeps its shape: who may import whom, what stays light, how big things get, what is complete."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from engine.problem_texts import PROBLEMS, REASONS
from engine.spec import JobSpec
from jobs.states import COLOURS, ENDED, TRANSITIONS, RunState
from tests.source import ROOT, files, functions, imports, module_name, place, tree

FORBIDDEN = {"engine": ("jobs", "webui", "django", "celery", "channels"), "jobs": ("webui",), "webui": ()}
"""webui → jobs → engine, never back; the engine knows nothing of Django."""

HEAVY = ("preprocess", "inspection", "weights", "training", "devices", "quantization", "inference")
HEAVY_LIBRARIES = ("torch", "transformers", "safetensors", "tokenizers", "gguf", "peft", "deepspeed")
LEVELS = (
    ("spec", "problems", "events", "dataset_files", "plan", "architecture", "catalog", "tables_csv",
     "tables_architecture", "tables_advice", "run_folder", "stage_file", "failures", "samples", "roots",
     "model_folder", "disk", "safetensors_header", "layer_names", "texts", "problem_texts", "stage_process",
     "dataset_report", "device_names"),
    ("families", "formats", "knowledge"),
    ("preparation", "dataset_options"),
    ("frameworks",),
    ("planner",),
    ("readable",),
    ("runner", "preprocess_verb", "inspect_verb"),
    ("__main__",),
)  # fmt: skip
"""Inside the engine, a level imports only its own and earlier ones."""

BROAD_EXCEPT = {
    "engine/inspection/__main__.py",
    "engine/preprocess/encoder.py",
    "engine/runner/watching.py",
    "engine/stage_process.py",
    "jobs/outbox.py",
    "jobs/reconciler.py",
}
"""Outermost edges, where anything at all may arrive, and the edge to Rust, whose panic is a class that cannot be named;
each says why beside its `except`."""


@pytest.mark.parametrize("room", FORBIDDEN)
def test_imports_go_one_way(room: str) -> None:
    wrong = [
        f"{place(path, line)} imports {name}"
        for path in files(room)
        for name, line in imports(path)
        if name.split(".")[0] in FORBIDDEN[room]
    ]
    assert not wrong, "\n".join(wrong)


def test_inside_the_engine_imports_go_one_way() -> None:
    level = {name: number for number, names in enumerate(LEVELS) for name in names}
    wrong = []
    for path in files("engine"):
        room = _engine_room(module_name(path))
        for name, line in imports(path):
            other = _engine_room(name) if name.split(".")[0] == "engine" else None
            if other is None:
                continue
            if room in HEAVY:
                allowed = other not in ("planner", "readable", "runner", "__main__")
            else:
                allowed = other not in HEAVY and level[other] <= level[room]
            if not allowed:
                wrong.append(f"{place(path, line)}: {room} imports {other}")
    assert not wrong, "\n".join(wrong)


def test_every_part_of_the_engine_has_a_level() -> None:
    known = {name for names in LEVELS for name in names} | set(HEAVY)
    rooms = {_engine_room(module_name(path)) for path in files("engine")} - {""}
    assert rooms <= known


def _engine_room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def test_the_light_zone_needs_neither_torch_nor_django() -> None:
    light = [
        module_name(path)
        for path in files("engine")
        if _engine_room(module_name(path)) not in (*HEAVY, "") and path.name != "__main__.py"
    ]
    assert len(light) > 20
    heavy = set(HEAVY_LIBRARIES) | {"django", "numpy"}
    code = f"import {', '.join(light)}, sys\nprint(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("room", ["jobs", "webui"])
def test_the_site_never_imports_what_is_heavy(room: str) -> None:
    wrong = [
        f"{place(path, line)} imports {name}"
        for path in files(room)
        for name, line in imports(path)
        if name.split(".")[0] in HEAVY_LIBRARIES or (name.startswith("engine.") and name.split(".")[1] in HEAVY)
    ]
    assert not wrong, "\n".join(wrong)


def test_files_stay_small() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files()}
    counted = [length for length in lengths.values() if length > 2]
    assert statistics.median(counted) <= 120
    assert [place(path, length) for path, length in lengths.items() if length > 500] == []


def test_functions_stay_small() -> None:
    lengths = {
        place(path, function.lineno): (function.end_lineno or 0) - function.lineno + 1
        for path in files()
        for function in functions(path)
    }
    assert statistics.median(lengths.values()) <= 10
    assert [where for where, length in lengths.items() if length > 80] == []


def test_every_argument_and_every_return_has_a_type() -> None:
    untyped = [
        place(path, function.lineno) for path in files() for function in functions(path) if not _is_typed(function)
    ]
    assert untyped == []


def _is_typed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    named = [argument for argument in arguments if argument is not None and argument.arg not in ("self", "cls")]
    return function.returns is not None and all(argument.annotation is not None for argument in named)


def test_a_broad_except_stands_only_at_an_outermost_edge() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node)
    }
    assert found <= BROAD_EXCEPT


def _is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or ast.unparse(kind) in ("Exception", "BaseException") for kind in kinds)


def test_every_problem_code_in_the_source_has_its_texts() -> None:
    used = {code: place(path, line) for path in files() for code, line in _codes(path, "Problem")}
    assert len(used) > 10
    assert {code: where for code, where in used.items() if code not in PROBLEMS} == {}


def test_every_reason_code_in_the_source_has_its_text() -> None:
    used = {code: place(path, line) for path in files() for code, line in _codes(path, "Reason")}
    assert {code: where for code, where in used.items() if code not in REASONS} == {}


def _codes(path: Path, name: str) -> Iterator[tuple[str, int]]:
    """Literal codes that are given to `Problem(code=…)` and the like."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name:
            for word in node.keywords:
                if word.arg == "code" and isinstance(word.value, ast.Constant):
                    yield str(word.value.value), node.lineno


@pytest.mark.parametrize("code", PROBLEMS)
def test_a_problem_is_told_in_both_languages(code: str) -> None:
    text = PROBLEMS[code]
    assert text.en
    assert _is_chinese(text.zh)
    assert bool(text.en_remedy) == bool(text.zh_remedy)
    assert _names(text.en) == _names(text.zh)
    assert _names(text.en_remedy) == _names(text.zh_remedy)


@pytest.mark.parametrize("code", REASONS)
def test_a_reason_is_told_in_both_languages(code: str) -> None:
    text = REASONS[code]
    assert text.en
    assert _is_chinese(text.zh)


def _is_chinese(text: str) -> bool:
    return any("一" <= letter <= "鿿" for letter in text)


def _names(template: str) -> set[str]:
    import string

    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("state", RunState)
def test_a_state_has_a_label_a_colour_and_a_place_in_the_drawing(state: RunState) -> None:
    assert state.label
    assert COLOURS[state] in {"primary", "secondary", "success", "danger", "warning", "info"}
    assert (state in ENDED) == (not TRANSITIONS[state])


def spec_fields(model: type[BaseModel] = JobSpec, prefix: str = "") -> Iterator[str]:
    """Dotted paths of all fields of a spec that hold a value."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from spec_fields(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def test_the_native_framework_says_of_every_field_who_reads_it() -> None:
    from engine.frameworks.native.flags import READ_BY

    assert set(READ_BY) == set(spec_fields())


def test_the_form_asks_for_every_field() -> None:
    from webui.fields import CONSTANTS, FIELDS

    assert set(FIELDS) | set(CONSTANTS) == set(spec_fields())
