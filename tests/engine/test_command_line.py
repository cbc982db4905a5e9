"""`python -m engine`, as a person starts it."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import __main__ as command_line
from engine.catalog import load
from engine.planner import plan
from engine.run_folder import RunFolder
from engine.spec import JobSpec, canonical_json
from tests.engine.asked import native, request
from tests.model_folders import make_model

ROOT = Path(__file__).parents[2]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return tmp_path / "spec.json"


def engine(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "engine", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, cwd=ROOT, check=False, timeout=60)


def _processor_seconds() -> float:
    """Of the commands that have ended: unlike the clock's, they do not grow with other work beside them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write(spec: Path, data: Any) -> Path:
    spec.write_text(data if isinstance(data, str) else json.dumps(data))
    return spec


def test_five_mistakes_are_five_problems_in_less_than_a_second_without_torch(spec: Path) -> None:
    mistakes = native(
        model="smollm-135m",
        devices=3,
        train__dataset__format="sharegtp",
        train__learning_rate="fast",
        train__layout__recompute="full",
    )
    write(spec, mistakes)
    start = _processor_seconds()
    result = engine("check", spec, "--no-files", "--json")
    assert _processor_seconds() - start < 1
    answer = json.loads(result.stdout)
    errors = [problem for problem in answer["problems"] if problem["severity"] == "error"]
    assert result.returncode == 2
    assert not answer["fits"]
    assert len(errors) == len({problem["field"] for problem in errors}) == 5


@pytest.mark.parametrize("verb", ["check", "plan"])
def test_torch_and_the_site_stay_out(spec: Path, verb: str) -> None:
    write(spec, native())
    code = (
        "import sys, engine.__main__ as c; code = c.main(sys.argv[1:]);"
        "print([n for n in ('torch', 'transformers', 'numpy', 'django') if n in sys.modules], file=sys.stderr);"
        "sys.exit(code)"
    )
    command = [sys.executable, "-c", code, verb, str(spec), "--no-files"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=60)
    assert result.returncode == 0
    assert result.stderr.strip() == "[]"


def test_a_request_that_fits_ends_with_0_and_the_answer_has_the_agreed_keys(spec: Path) -> None:
    result = engine("check", write(spec, native()), "--no-files", "--json", "--language", "zh-hans")
    answer = json.loads(result.stdout)
    assert result.returncode == 0
    assert set(answer) == {"fits", "problems", "devices", "nearest"}
    assert set(answer["devices"]) == {"table", "unsupported", "floor", "recommended", "suspect"}
    assert {"code", "field", "severity", "message", "remedy", "parameters"} <= set(answer["problems"][0])
    assert "native" in answer["problems"][0]["message"]
    assert re.search(r"[\u4e00-\u9fff]", answer["problems"][0]["message"])


def test_a_plan_is_printed_as_the_planner_makes_it(spec: Path) -> None:
    result = engine("plan", write(spec, native()), "--no-files", "--json")
    assert result.stdout == canonical_json(plan(JobSpec.model_validate(native()), load()))
    assert result.returncode == 0


def test_a_plan_can_be_read_by_a_person(spec: Path) -> None:
    result = engine("plan", write(spec, native(devices=2)), "--no-files", "--language", "en")
    assert "--nproc-per-node 2" in result.stdout
    assert "Each of the 2 processes" in result.stdout


def test_a_framework_beside_us_is_planned_with_its_commands(spec: Path, tmp_path: Path) -> None:
    write(spec, request())
    assert engine("check", spec, "--no-files").returncode == 0
    result = engine("plan", spec, "--no-files", "--json")
    made = json.loads(result.stdout)
    names = [stage["name"] for stage in made["stages"]]
    assert (result.returncode, names) == (0, ["preprocess", "convert", "train", "export"])
    assert made["layout"]["tensor_parallel_size"] == 4
    shown = engine("plan", spec, "--no-files", "--language", "en").stdout
    assert "posttrain_gpt.py" in shown
    assert "--tensor-model-parallel-size 4" in shown
    refused = engine("run", spec, "--run-dir", tmp_path / "run")
    assert refused.returncode == 2
    assert not (tmp_path / "run" / "plan.json").exists()


def test_standard_input_is_read_for_a_dash() -> None:
    result = engine("check", "-", "--no-files", "--json", stdin=json.dumps(native()))
    assert json.loads(result.stdout)["fits"]


@pytest.mark.parametrize(
    ("text", "code"), [('{"a": 1,\n "b"}', "spec.not_json"), ("", "spec.not_json"), ("[" * 100_000, "spec.unreadable")]
)
def test_what_is_no_json_is_refused_with_its_place(spec: Path, text: str, code: str) -> None:
    result = engine("check", write(spec, text), "--json")
    (problem,) = json.loads(result.stdout)["problems"]
    assert result.returncode == 2
    assert problem["code"] == code
    if code == "spec.not_json":
        assert {"line", "column"} <= set(problem["parameters"])


def test_a_missing_request_and_a_missing_catalog_end_with_2(spec: Path, tmp_path: Path) -> None:
    assert engine("check", spec).returncode == 2
    result = engine("check", write(spec, native()), "--no-files", "--catalog", tmp_path)
    assert result.returncode == 2
    assert "hardware.csv" in result.stdout


def test_another_catalog_is_believed(spec: Path, tmp_path: Path) -> None:
    from engine.catalog import TABLES

    for table in TABLES.glob("*.csv"):
        text = table.read_text(encoding="utf-8").replace(
            "llama3.1-8b,full,4096,mindspeed-llm,snt9b,4,", "llama3.1-8b,full,4096,mindspeed-llm,snt9b,8,"
        )
        (tmp_path / table.name).write_text(text, encoding="utf-8")
    result = engine("check", write(spec, request()), "--no-files", "--json", "--catalog", tmp_path)
    assert json.loads(result.stdout)["devices"]["table"] == 8


def test_help_is_complete() -> None:
    assert "exit codes: 0 done, 2" in " ".join(engine("--help").stdout.split())
    shown = engine("run", "--help").stdout
    assert "--run-dir" in shown
    assert "--catalog" in shown


def test_a_reader_that_leaves_early_is_no_error(spec: Path) -> None:
    write(spec, request(model="llama3.1-70b"))
    script = f"{sys.executable} -m engine check {spec} --no-files --json | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT, check=False, timeout=60)
    assert result.returncode in (0, 2, 141)
    assert "Traceback" not in result.stderr
    assert "BrokenPipe" not in result.stderr


def test_a_wrong_request_is_not_run(spec: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = engine("run", write(spec, native()), "--run-dir", folder)
    assert result.returncode == 2
    assert "model_path" in result.stderr
    assert not folder.exists()


def test_a_run_is_prepared_and_started(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner has tests of its own; here its exit code must come through, and the plan must reach it."""
    import engine.runner

    model = make_model(tmp_path / "model")
    data = tmp_path / "rows.json"
    data.write_text(json.dumps([{"instruction": "a", "output": "b"}]))
    write(spec, native(model_path=str(model), train__dataset__path=str(data)))
    seen: list[RunFolder] = []

    def ends(folder: RunFolder, **_: Any) -> int:
        seen.append(folder)
        return 130

    monkeypatch.setattr(engine.runner, "run_in_terminal", ends)
    code = command_line.main(["run", str(spec), "--run-dir", str(tmp_path / "run")])
    assert code == 130
    assert json.loads(seen[0].plan.read_text())["layout"]["devices"] == 1
    assert json.loads(seen[0].spec.read_text())["model"] == "smollm2-135m"


def test_what_fits_is_a_verb() -> None:
    grid = json.loads(engine("fits", "--model", "llama3.1-70b", "--json").stdout)
    wanted = {"framework": "mindspeed-llm", "hardware": "snt9b", "strategy": "full", "seq_length": 8192}
    [cell] = [cell for cell in grid["cells"] if wanted.items() <= cell.items()]
    assert (cell["state"], cell["devices"]["table"]) == ("printed", 64)
    shelf = engine("fits", "--hardware", "snt9b", "--devices", "8")
    assert shelf.returncode == 0
    assert "qwen2.5-7b" in shelf.stdout


@pytest.mark.parametrize(
    "wrong", [["--model", "lama"], ["--hardware", "abacus"], ["--hardware", "snt9b23", "--devices", "3"], []]
)
def test_what_fits_refuses_what_it_does_not_know(wrong: list[str]) -> None:
    assert engine("fits", *wrong).returncode == 2


def test_a_check_tells_the_estimate_of_our_own_engine_as_the_site_does(spec: Path) -> None:
    write(spec, request(model="llama2-7b", framework="native", hardware="snt9b", devices=8))
    answer = json.loads(engine("check", spec, "--no-files", "--json").stdout)
    assert (answer["devices"]["table"], answer["devices"]["estimate"]) == (None, 4)
