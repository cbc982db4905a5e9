"""Rows as LLaMA-Factory gets them: nothing of them is changed, and what it cannot be told is a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from pyarrow import parquet

from engine.failures import Failure
from engine.frameworks.llama_factory import rows
from engine.frameworks.rewriting import samples
from engine.preparation import Dropped
from engine.spec import DatasetChoice


def written(path: Path, dataset_format: str, **names: Any) -> list[dict[str, Any]]:
    choice = DatasetChoice.model_validate({"path": str(path), "format": dataset_format, **names})
    return [rows.row(sample, str(path)) for sample in samples(choice, None, Dropped())]


def conversation(*turns: tuple[str, Any], **beside: Any) -> dict[str, Any]:
    return {
        "messages": [{"role": who, **(said if isinstance(said, dict) else {"content": said})} for who, said in turns]
    } | beside


def calls(*named: tuple[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments in named
    ]


def test_a_conversation_keeps_its_speakers(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    call = {"name": "f", "arguments": {"a": 1}}
    said = [("system", "S"), ("human", "U"), ("function_call", json.dumps(call)), ("observation", "O"), ("gpt", "A")]
    turns = [{"from": who, "value": text} for who, text in said]
    path.write_text(json.dumps([{"conversations": turns, "tools": "[]"}]), encoding="utf-8")
    assert written(path, "sharegpt") == [{"conversations": turns[1:], "system": "S", "tools": "[]"}]


def test_calls_of_openai_are_turns_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    several = calls(("f", {"a": "<tool_call>中</tool_call>"}), ("g", {}))
    row = conversation(
        ("user", "U"),
        ("assistant", {"content": None, "tool_calls": several}),
        ("tool", "O"),
        ("assistant", {"content": "", "tool_calls": calls(("h", [1, None]))}),
        ("tool", "P"),
        ("assistant", "A"),
        tools=[{"type": "function", "function": {"name": "f"}}],
    )
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (found,) = written(path, "openai")
    speakers = [turn["from"] for turn in found["conversations"]]
    assert speakers == ["human", "function_call", "observation", "function_call", "observation", "gpt"]
    first, second = (turn["value"] for turn in found["conversations"] if turn["from"] == "function_call")
    assert json.loads(first) == [
        {"name": "f", "arguments": {"a": "<tool_call>中</tool_call>"}},
        {"name": "g", "arguments": {}},
    ]
    assert "<" not in first, "it would be cut out of the text before the JSON is read"
    assert json.loads(second) == {"name": "h", "arguments": [1, None]}
    assert json.loads(found["tools"]) == row["tools"]


ANSWER = ("assistant", "A")
CALL = ("assistant", {"content": None, "tool_calls": calls(("f", {}), ("g", {}))})
UNSAID = {
    "tool, tool": conversation(("user", "U"), CALL, ("tool", "O"), ("tool", "P"), ANSWER),
    "content + tool_calls": conversation(
        ("user", "U"), ("assistant", {"content": "Let me see.", "tool_calls": calls(("f", {}))}), ("tool", "O"), ANSWER
    ),
    "reasoning_content": conversation(("user", "U"), ("assistant", {"content": "A", "reasoning_content": "R"})),
    "tools": conversation(("user", "U"), ANSWER, tools="a tool that weighs"),
    "{{idx}}": conversation(("user", "What is {{idx}}?"), ANSWER),
}


@pytest.mark.parametrize("what", UNSAID)
def test_what_it_cannot_be_told_is_a_failure_with_file_and_line(tmp_path: Path, what: str) -> None:
    good = conversation(("user", "U"), ANSWER)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "1.jsonl").write_text(json.dumps(good), encoding="utf-8")
    (tmp_path / "data" / "2.jsonl").write_text(json.dumps(good) + "\n" + json.dumps(UNSAID[what]), encoding="utf-8")
    with pytest.raises(Failure) as caught:
        written(tmp_path / "data", "openai")
    problem = caught.value.problem
    assert (problem.code, problem.field) == ("llama_factory.row", "train.dataset.path")
    assert problem.parameters == {"path": "2.jsonl", "line": 2, "what": what}


def test_a_row_that_the_program_would_drop_unsaid_is_a_failure_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    turns = [{"from": who, "value": who} for who in ("human", "human", "gpt", "gpt")]
    path.write_text(json.dumps([{"conversations": turns}]), encoding="utf-8")
    with pytest.raises(Failure, match=r"preprocess\.broken_row.*line=1"):
        written(path, "sharegpt")


def test_alpaca_becomes_the_same_conversation(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    row = {"instruction": "I", "input": "X", "output": "A", "history": [["Q", "R"]], "system": "S"}
    path.write_text(json.dumps([row]), encoding="utf-8")
    (found,) = written(path, "alpaca")
    values = [turn["value"] for turn in found["conversations"]]
    assert (values, found["system"]) == (["Q", "R", "I\nX", "A"], "S")


def test_moss_and_folders_of_any_file_with_names_of_their_own_reach_it(tmp_path: Path) -> None:
    moss = {"meta_instruction": "S", "chat": {"turn_1": {"Human": "<|Human|>: U<eoh>", "MOSS": "<|MOSS|>: A<eom>"}}}
    (tmp_path / "moss.json").write_text(json.dumps([moss]), encoding="utf-8")
    said = [{"from": "human", "value": "U"}, {"from": "gpt", "value": "A"}]
    assert written(tmp_path / "moss.json", "moss") == [{"conversations": said, "system": "S", "tools": ""}]
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").write_text("ask,reply\nU,A\n", encoding="utf-8")
    parquet.write_table(arrow.table({"ask": ["U"], "reply": ["A"]}), folder / "b.parquet")
    columns = {"prompt": "ask", "response": "reply"}
    assert [row["conversations"] for row in written(folder, "alpaca", columns=columns)] == [said, said]
    turns = [{"who": "person", "text": "U"}, {"who": "model", "text": "A"}]
    (tmp_path / "tags.json").write_text(json.dumps([{"conversations": turns}]), encoding="utf-8")
    tags = {"role": "who", "content": "text", "user": "person", "assistant": "model"}
    assert written(tmp_path / "tags.json", "sharegpt", tags=tags)[0]["conversations"] == said


def test_the_entry_names_every_column_and_tag_that_it_uses() -> None:
    entry = json.loads(rows.info("sft"))["train"]
    assert set(entry["columns"].values()) == {"conversations", "system", "tools"}
    assert len(entry["tags"]) == 7
    assert json.loads(rows.info("pretrain"))["train"]["columns"] == {"prompt": "text"}
