"""Reading datasets: every row with its line, every fault with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine import formats
from engine.formats import Broken, DataFile, Message, Sample, json_rows, kinds
from engine.formats.records import Record

ROW = {"instruction": "Say hello", "input": "in French", "output": "Bonjour"}


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(folder: Path, format_name: str, content: str | bytes, name: str = "rows.json") -> list[Sample | Broken]:
    return list(formats.read_file(write(folder, name, content), format_name))


def test_an_alpaca_row_joins_instruction_and_input_on_a_new_line(tmp_path: Path) -> None:
    (sample,) = read(tmp_path, "alpaca", json.dumps([ROW]))
    assert sample == Sample(1, messages=(Message("user", "Say hello\nin French"), Message("assistant", "Bonjour")))


def test_alpaca_system_and_history_come_before_the_question(tmp_path: Path) -> None:
    row = {**ROW, "input": "", "system": "Be brief.", "history": [["a", "b"]]}
    (sample,) = read(tmp_path, "alpaca", json.dumps([row]))
    assert isinstance(sample, Sample)
    assert [m.role for m in sample.messages] == ["system", "user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("indent", [None, 2])
def test_rows_of_an_array_have_their_true_lines(tmp_path: Path, indent: int | None) -> None:
    content = "\n\n" + json.dumps([ROW] * 5, indent=indent)
    rows = read(tmp_path, "alpaca", content)
    step = 5 if indent else 0
    first = 4 if indent else 3
    assert [row.line for row in rows] == [first + step * number for number in range(5)]


def test_lines_are_true_across_window_borders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rows, "CHUNK", 7)
    values: list[Any] = [{"text": "é" * n, "n": 10**n} for n in range(1, 40)] + [1.5, 12345678901234567890, True]
    content = json.dumps(values, indent=1, ensure_ascii=False)
    path = write(tmp_path, "rows.json", content)
    found = list(kinds.records(DataFile(path, ""), "alpaca"))
    assert [r.value for r in found if isinstance(r, Record)] == values
    starts = [number for number, line in enumerate(content.split("\n"), 1) if line.startswith(" ") and line[1] in "{1t"]
    assert [record.line for record in found] == starts


def test_json_lines_are_read_whatever_the_ending(tmp_path: Path) -> None:
    rows = read(tmp_path, "alpaca", "\ufeff" + json.dumps(ROW) + "\n\n" + json.dumps(ROW))
    assert [row.line for row in rows] == [1, 3]


def test_a_broken_line_does_not_hide_the_rows_behind_it(tmp_path: Path) -> None:
    rows = read(tmp_path, "alpaca", f'{json.dumps(ROW)}\n{{"instruction": \n{json.dumps(ROW)}\n', "rows.jsonl")
    assert [type(row) for row in rows] == [Sample, Broken, Sample]
    assert (rows[1].line, rows[1].reason) == (2, "json.syntax")  # type: ignore[union-attr]


@pytest.mark.parametrize("chunk", [5, 1 << 20])
def test_an_array_broken_in_the_middle_gives_line_and_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(json_rows, "CHUNK", chunk)
    good = json.dumps(ROW)
    rows = read(tmp_path, "alpaca", f"[{good},\n {good}\n   {good}]")
    assert isinstance(rows[2], Broken)
    assert rows[2] == Broken(3, "json.syntax", {"column": 4, "expected": "Expecting ',' delimiter"}, ends=True)


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [('[\n{"a": 1,\n "b" 2}]', 3, 6), ('[{"a": 1}\n', 2, 1), ('[{"a": 1}] x', 1, 12), ("[,]", 1, 2), ("[", 1, 2)],
)
def test_a_syntax_error_is_placed_where_json_places_it(tmp_path: Path, content: str, line: int, column: int) -> None:
    last = list(kinds.records(DataFile(write(tmp_path, "rows.json", content), ""), "alpaca"))[-1]
    assert isinstance(last, Broken)
    assert (last.line, last.parameters["column"]) == (line, column)
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(content)
    assert (caught.value.lineno, caught.value.colno) == (line, column)


@pytest.mark.parametrize("start", ["[", ""])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_that_is_not_utf8_is_found_with_its_line(tmp_path: Path, start: str, mark: bytes) -> None:
    good = json.dumps(ROW)
    content = mark + f"{start}{good}{',' if start else ''}\n".encode() + b'{"instruction": "\xff"}'
    broken = read(tmp_path, "alpaca", content)[-1]
    assert (broken.line, broken.reason, broken.parameters) == (2, "file.not_utf8", {"column": 18})
    assert broken.ends is (start == "["), "an array breaks off, lines go on"


def test_a_value_nested_too_deep_is_broken_and_no_crash(tmp_path: Path) -> None:
    deep = "[" * 100_000
    for content in (f"[{deep}", f'{{"text": {deep}'):
        broken = read(tmp_path, "text", content)[-1]
        assert isinstance(broken, Broken)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"instruction": "a"}, "row.missing_key"),
        ({"instruction": 3, "output": "b"}, "row.not_text"),
        ({"instruction": " ", "output": "b"}, "row.empty"),
        ({"instruction": "a", "output": None}, "row.not_text"),
        ({"instruction": "\ud83d", "output": "b"}, "row.bad_unicode"),
        ({"instruction": "a", "output": "b", "history": [["x"]]}, "row.not_pair"),
        ({"instruction": "a", "output": "b", "history": "x"}, "row.not_list"),
        ("text", "row.not_object"),
    ],
)
def test_a_wrong_alpaca_row_says_why(tmp_path: Path, row: Any, reason: str) -> None:
    (broken,) = read(tmp_path, "alpaca", json.dumps([row]))
    assert isinstance(broken, Broken)
    assert broken.reason == reason


def turns(*speakers: str) -> str:
    return json.dumps([{"conversations": [{"from": speaker, "value": speaker} for speaker in speakers]}])


def test_a_sharegpt_conversation_keeps_its_roles(tmp_path: Path) -> None:
    (sample,) = read(tmp_path, "sharegpt", turns("system", "human", "function_call", "observation", "gpt"))
    assert isinstance(sample, Sample)
    assert [m.role for m in sample.messages] == ["system", "user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize(
    ("speakers", "reason"),
    [
        (("gpt", "human"), "row.role_order"),
        (("human", "human"), "row.role_order"),
        (("human", "gpt", "system", "gpt"), "row.role_order"),
        (("human",), "row.no_answer"),
        (("human", "gpt", "human"), "row.no_answer"),
        (("system",), "row.empty"),
        ((), "row.empty"),
    ],
)
def test_sharegpt_turns_out_of_order_are_refused(tmp_path: Path, speakers: tuple[str, ...], reason: str) -> None:
    (broken,) = read(tmp_path, "sharegpt", turns(*speakers))
    assert isinstance(broken, Broken)
    assert broken.reason == reason


def test_moss_turns_are_in_the_order_of_their_numbers_and_without_markers(tmp_path: Path) -> None:
    chat = {f"turn_{n}": {"Human": f"<|Human|>: q{n}<eoh>\n", "MOSS": f"<|MOSS|>: a{n}<eom>\n"} for n in (10, 2, 1)}
    (sample,) = read(tmp_path, "moss", json.dumps({"chat": chat}), "rows.jsonl")
    assert isinstance(sample, Sample)
    assert [m.content for m in sample.messages] == ["q1", "a1", "q2", "a2", "q10", "a10"]


def test_a_text_file_is_a_document_a_line(tmp_path: Path) -> None:
    rows = read(tmp_path, "text", "one\r\n\n  \ntwo", "rows.txt")
    assert rows == [Sample(1, text="one"), Sample(4, text="two")]


def test_text_rows_come_from_the_text_key(tmp_path: Path) -> None:
    rows = read(tmp_path, "text", '{"text": "one"}\n{"text": ""}', "rows.jsonl")
    assert rows == [Sample(1, text="one"), Broken(2, "row.empty", {"key": "text"})]


@pytest.mark.parametrize(
    ("record", "name"),
    [(ROW, "alpaca"), ({"conversations": []}, "sharegpt"), ({"chat": {}}, "moss"), ({"text": ""}, "text"), (3, None)],
)
def test_a_row_is_recognised(record: Any, name: str | None) -> None:
    assert formats.looks_like(record) == name
