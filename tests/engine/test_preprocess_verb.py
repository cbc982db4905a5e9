"""`python -m engine preprocess`: MindSpeed-LLM's parameters in, its files out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import preprocess_verb
from engine.__main__ import _parser
from engine.dataset_files import file_names
from engine.formats.handlers import HANDLERS
from engine.preprocess.alone import FAILED, WRONG
from engine.preprocess.alone import main as alone
from engine.samples import DOCUMENTS, STATION_MASTER

ROOT = Path(__file__).parents[2]


def asked(*more: str) -> dict[str, Any]:
    words = ["preprocess", "--input", "d.json", "--output-prefix", "o/p", "--tokenizer-name-or-path", "t"]
    return preprocess_verb.request(_parser().parse_args([*words, *more]))


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engine", "preprocess", *words],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_script_that_was_written_for_mindspeed_llm_works(tiny_model: Path, tmp_path: Path) -> None:
    words = (
        *("--input", str(STATION_MASTER), "--output-prefix", str(tmp_path / "new" / "alpaca")),
        *("--tokenizer-type", "PretrainedFromHF", "--tokenizer-name-or-path", str(tiny_model)),
        *("--handler-name", "AlpacaStyleInstructionHandler", "--seq-length", "64", "--workers", "2"),
        *("--log-interval", "100", "--pack"),
    )
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert "rows read: 353, kept: 353" in done.stdout
    written = {path.name for path in (tmp_path / "new").iterdir() if path.is_file()}
    assert written == {f"alpaca_{name}" for name in file_names("sft")} | {"alpaca_report.json"}
    again = run(*words)
    assert (again.returncode, "taken from there" in again.stdout) == (0, True)
    report = json.loads((tmp_path / "new" / "alpaca_report.json").read_text(encoding="utf-8"))
    assert report["rows_read"] == report["rows_kept"] == 353


def test_documents_are_for_pretraining(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = asked("--format", "text") | {
        "prefix": str(tmp_path / "p"), "tokenizer": str(tiny_model), "cache": str(tmp_path / "cache"),
    }  # fmt: skip
    request["dataset"]["path"] = str(DOCUMENTS)
    assert alone([json.dumps(request)]) == 0
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {
        "p_text_document.bin", "p_text_document.idx", "p_report.json",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "stage", "chosen"),
    [
        ((), "sft", "alpaca"),
        (("--format", "text"), "pretrain", "text"),
        (("--handler-name", "GeneralPretrainHandler"), "pretrain", "text"),
        (("--handler-name", "AlpacaPretrainHandler"), "pretrain", "alpaca"),
        (("--handler-name", "SharegptStyleInstructionHandler"), "sft", "sharegpt"),
        (("--format", "sharegpt", "--stage", "pretrain"), "pretrain", "sharegpt"),
    ],
)
def test_the_handler_decides_what_for(words: tuple[str, ...], stage: str, chosen: str) -> None:
    request = asked(*words)
    assert (request["stage"], request["dataset"]["format"]) == (stage, chosen)


def test_columns_and_tags_reach_the_reader() -> None:
    dataset = asked("--columns", "prompt=q", "--columns", "response=a", "--tags", "role=speaker")["dataset"]
    assert dataset["columns"] == {"prompt": "q", "response": "a"}
    assert dataset["tags"] == {"role": "speaker"}


@pytest.mark.parametrize(
    "words",
    [("--seq-length", "7"), ("--workers", "0"), ("--handler-name", "NoSuchHandler"), ("--columns", "colour=red"),
     ("--tokenizer-type", "GPT2BPETokenizer"), ("--input", "")],
)  # fmt: skip
def test_what_is_no_value_is_refused_by_name(words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refusal:
        asked(*words)
    assert refusal.value.code == 2
    told = capsys.readouterr().err
    assert words[0] in told
    assert "invalid _" not in told, "a name of ours says nothing"


def test_an_unknown_handler_is_told_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        asked("--handler-name", "AlpacaHandler")
    told = capsys.readouterr().err
    assert all(name in told for name in HANDLERS)


@pytest.mark.parametrize(("language", "words"), [("en", "There is no file"), ("zh-hans", "文件")])
def test_a_missing_file_is_the_person_s_own_doing(
    tmp_path: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str], language: str, words: str
) -> None:
    request = asked("--language", language) | {"prefix": str(tmp_path / "p"), "tokenizer": str(tiny_model)}
    request["dataset"]["path"] = str(tmp_path / "nothing.json")
    assert alone([json.dumps(request)]) == WRONG
    assert words in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_a_failure(
    tmp_path: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    request = asked() | {"prefix": str(tmp_path / "file" / "p"), "tokenizer": str(tiny_model)}
    request["dataset"]["path"] = str(STATION_MASTER)
    assert alone([json.dumps(request)]) == FAILED
    told = capsys.readouterr().err
    assert "/file" in told
    assert "cannot be written" in told


def test_a_tokenizer_folder_that_is_not_there_is_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = asked() | {"prefix": str(tmp_path / "p"), "tokenizer": str(tmp_path / "nothing")}
    request["dataset"]["path"] = str(STATION_MASTER)
    assert alone([json.dumps(request)]) == WRONG
    assert "no such folder" in capsys.readouterr().err


def test_help_names_every_parameter_and_every_file() -> None:
    done = run("--help")
    assert done.returncode == 0
    for word in ("--input", "--output-prefix", "--tokenizer-name-or-path", "--seq-length", "--workers",
                 "--log-interval", "--handler-name", "--packing", "exit codes:", "_document"):  # fmt: skip
        assert word in done.stdout
