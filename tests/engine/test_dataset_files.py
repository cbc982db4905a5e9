"""Files of a dataset: what they are made of, and which ones a path means."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from pyarrow import parquet as parquet_files

from engine import formats
from engine.failures import Failure
from engine.formats import Broken, DataFile, Sample
from engine.preprocess import parquet
from engine.spec import DatasetChoice

ROW = {"instruction": "你好，世界", "output": "Grüße"}


def broken(path: Path, format_name: str = "alpaca") -> Broken:
    found = list(formats.read_file(path, format_name))[-1]
    assert isinstance(found, Broken), found
    return found


def write(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.csv", "rows.txt"])
def test_wide_text_is_recognised_and_refused(tmp_path: Path, encoding: str, name: str) -> None:
    path = write(tmp_path, name, json.dumps([ROW] * 9).encode(encoding))
    found = broken(path, "text" if name.endswith("txt") else "alpaca")
    assert found.reason == "file.encoding"
    assert str(found.parameters["encoding"]).startswith(encoding[:6].upper())


@pytest.mark.parametrize("encoding", ["gbk", "gb18030"])
@pytest.mark.parametrize("begin", ["", "["])
def test_gbk_is_recognised_and_refused_with_the_remedy(tmp_path: Path, encoding: str, begin: str) -> None:
    from engine.plan import Reason
    from engine.problem_texts import reason

    rows = ",\n".join(
        [json.dumps({"instruction": "a", "output": "b"}), json.dumps(ROW | {"output": "好"}, ensure_ascii=False)]
    )
    content = begin + (rows if begin else rows.replace(",\n", "\n"))
    found = broken(write(tmp_path, "rows.json", content.encode(encoding)))
    assert (found.line, found.reason, found.parameters["encoding"]) == (2, "file.encoding", "GBK")
    told = reason(Reason(decision="-", code=found.reason, parameters=found.parameters), "en")
    command = told[told.index("iconv") :].split(" OLD")[0].split()
    mended = subprocess.run([*command, tmp_path / "rows.json"], capture_output=True, check=True).stdout
    assert mended.decode() == content


def test_another_encoding_than_gbk_is_not_called_gbk(tmp_path: Path) -> None:
    for text in ("Grüße aus Köln, schöne Füße, Äpfel", "déjà vu à la façade, où"):
        path = write(tmp_path, "rows.jsonl", json.dumps({"text": text}, ensure_ascii=False).encode("latin-1"))
        assert broken(path, "text").reason == "file.not_utf8"


def test_packed_files_are_refused(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("rows.json", b"0" * 10_000_000)  # a bomb: nothing unpacks it
    for name, data, kind in [
        ("rows.json", gzip.compress(json.dumps(ROW).encode()), "gzip"),
        ("rows.csv", packed.getvalue(), "zip"),
        ("rows.jsonl", b"\x28\xb5\x2f\xfd" + bytes(90), "zstd"),
        ("rows.parquet", packed.getvalue(), "zip"),
    ]:
        found = broken(write(tmp_path, name, data))
        assert (found.reason, found.parameters["kind"]) == ("file.compressed", kind)


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_cells_hold_line_breaks_and_rows_have_their_true_lines(tmp_path: Path, mark: bytes, end: str) -> None:
    lines = ["instruction,output,note", 'one,"a', 'b ""c"" ,",n', "", 'two,"x",', "three", "four,y,z"]
    found = list(formats.read_file(write(tmp_path, "rows.csv", mark + end.join(lines).encode()), "alpaca"))
    assert [item.line for item in found] == [2, 5, 6, 7]
    first, _, cells, _ = found
    assert isinstance(first, Sample)
    assert first.messages[1].content == f'a{end}b "c" ,'
    assert cells == Broken(6, "csv.cells", {"found": 1, "expected": 3})


def test_a_csv_row_is_a_row_of_its_format(tmp_path: Path) -> None:
    text = 'instruction,input,output,history\nsay,"more\nmore",answer,"[[""a"", ""b""]]"\nsay,,answer,\n'
    whole, short = formats.read_file(write(tmp_path, "rows.csv", text), "alpaca")
    assert isinstance(whole, Sample)
    assert [message.content for message in whole.messages] == ["a", "b", "say\nmore\nmore", "answer"]
    assert isinstance(short, Sample)
    assert (short.line, len(short.messages)) == (4, 2)


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ('instruction,output\na,b\nc,"d\ne\n', 3, "csv.syntax"),
        ('instruction,output\na,"b"x\n', 2, "csv.syntax"),
        ("instruction;output\na;b\n", 1, "csv.separator"),
        ("instruction\toutput\na\tb\n", 1, "csv.separator"),
        ("output,output\na,b\n", 1, "row.duplicate_key"),
        ("question,output\na,b\n", 2, "row.missing_key"),
    ],
)
def test_wrong_csv_says_where_and_why(tmp_path: Path, content: str, line: int, reason: str) -> None:
    found = broken(write(tmp_path, "rows.csv", content))
    assert (found.line, found.reason) == (line, reason)


def test_an_empty_csv_has_no_rows(tmp_path: Path) -> None:
    for content in ("", "\n", "instruction,output\n"):
        assert list(formats.read_file(write(tmp_path, "rows.csv", content), "alpaca")) == []


def parquet_file(path: Path, **columns: list[Any]) -> Path:
    parquet_files.write_table(arrow.table(columns), path, row_group_size=3)
    return path


def read_parquet(path: Path, format_name: Any) -> list[Sample | Broken]:
    return list(formats.read(DatasetChoice(path="-", format=format_name), formats.find(path), parquet.rows))


def test_parquet_rows_are_the_same_as_json_rows(tmp_path: Path) -> None:
    turns = [[{"from": "human", "value": f"q{n}"}, {"from": "gpt", "value": f"a{n}"}] for n in range(10)]
    found = read_parquet(parquet_file(tmp_path / "a.parquet", conversations=turns), "sharegpt")
    path = write(tmp_path, "a.jsonl", "\n".join(json.dumps({"conversations": one}) for one in turns))
    same = list(formats.read(DatasetChoice(path="-", format="sharegpt"), formats.find(path)))
    assert [(one.line, getattr(one, "messages", None)) for one in found] == [
        (one.line, getattr(one, "messages", None)) for one in same
    ]
    assert {one.file for one in found} == {"a.parquet"}


def test_wrong_parquet_is_told(tmp_path: Path) -> None:
    numbers = read_parquet(parquet_file(tmp_path / "a.parquet", instruction=["q", "r"], output=[1, None]), "alpaca")
    assert [getattr(one, "reason", None) for one in numbers] == ["row.not_text", "row.not_text"]
    (other,) = read_parquet(parquet_file(tmp_path / "b.parquet", title=["q"]), "alpaca")
    assert isinstance(other, Broken)
    assert other.reason == "row.missing_key"
    cut = write(tmp_path, "c.parquet", (tmp_path / "a.parquet").read_bytes()[:-20])
    (damaged,) = read_parquet(cut, "alpaca")
    assert isinstance(damaged, Broken)
    assert damaged.reason == "file.broken_parquet"
    (none,) = read_parquet(write(tmp_path, "d.parquet", '{"instruction": 1}'), "alpaca")
    assert isinstance(none, Broken)
    assert none.reason == "file.not_parquet"


def test_without_its_library_a_parquet_file_is_one_broken_row_that_says_so(tmp_path: Path) -> None:
    path = parquet_file(tmp_path / "a.parquet", text=["x"] * 5)
    assert list(formats.read_file(path, "text")) == [Broken(1, "file.parquet", ends=True)]


def test_a_folder_and_a_pattern_mean_their_files_in_order_and_rows_know_their_file(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.json", "deep/c.csv", ".hidden.json", "README.md", "deep/.git/d.json"):
        write(tmp_path, name, "text\nx\n" if name.endswith("csv") else json.dumps({"text": name}))
    names = ["a.json", "b.jsonl", "deep/c.csv"]
    assert [file.name for file in formats.find(tmp_path)] == names
    assert [file.name for file in formats.find(tmp_path / "*.json*")] == names[:2]
    assert [file.name for file in formats.find(tmp_path / "**" / "*.csv")] == names[2:]
    rows = list(formats.read(DatasetChoice(path="-", format="text"), formats.find(tmp_path)))
    assert [(row.file, row.line) for row in rows] == [("a.json", 1), ("b.jsonl", 1), ("deep/c.csv", 2)]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    path = write(tmp_path, "rows[1].json", json.dumps([{"text": "x"}]))
    assert formats.find(path) == (DataFile(path.resolve(), "rows[1].json"),)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("none.json", "dataset.missing"), ("empty", "dataset.no_files"), ("*.csv", "dataset.no_files"),
        ("model", "dataset.model_folder"), ("pipe", "dataset.not_a_file"), ("a**b", "path.unusable"),
        ("n" * 300, "path.unusable"),
    ],
)  # fmt: skip
def test_a_path_without_data_is_refused(tmp_path: Path, path: str, code: str) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path, "model/config.json", "{}")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises((Failure, OSError)) as error:
        formats.find(tmp_path / path)
    if isinstance(error.value, Failure):
        assert error.value.problem.code == code
    else:
        assert code == "path.unusable"


@pytest.mark.parametrize("asked", ["inside", "inside/*.json", "inside/../outside/*.json"])
def test_no_folder_and_no_pattern_leads_out_of_the_roots(tmp_path: Path, asked: str) -> None:
    secret = write(tmp_path, "outside/secret.json", json.dumps([{"text": "x"}]))
    write(tmp_path, "inside/rows.json", json.dumps([{"text": "x"}]))
    (tmp_path / "inside" / "link.json").symlink_to(secret)
    with pytest.raises(Failure) as failure:
        formats.find(tmp_path / asked, [tmp_path / "inside"])
    assert failure.value.problem.code == "path.outside"


@pytest.mark.parametrize(
    ("row", "name", "columns", "tags"),
    [
        ({"instruction": "a", "output": "b"}, "alpaca", {}, {}),
        ({"question": "a", "answer": "b"}, "alpaca", {"prompt": "question", "response": "answer"}, {}),
        ({"prompt": "a", "completion": "b"}, "alpaca", {"prompt": "prompt", "response": "completion"}, {}),
        ({"content": "a"}, "text", {"text": "content"}, {}),
        ({"text": "a", "id": 3}, "text", {}, {}),
        ({"messages": [{"role": "user", "content": "a"}]}, "openai", {}, {}),
        (
            {"conversations": [{"role": "human", "content": "a"}]},
            "openai",
            {"messages": "conversations"},
            {"user": "human"},
        ),
        ({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}, "sharegpt", {}, {}),
        ({"chat": {"turn_1": {"Human": "a", "MOSS": "b"}}}, "moss", {}, {}),
        ({"title": "a"}, None, {}, {}),
        ({"messages": []}, None, {}, {}),
    ],
)
def test_a_dataset_is_recognised_with_the_names_that_it_needs(
    tmp_path: Path, row: dict[str, Any], name: str | None, columns: dict[str, str], tags: dict[str, str]
) -> None:
    found = formats.sniff(formats.find(write(tmp_path, "rows.jsonl", json.dumps(row))))
    assert found.format == name
    assert found.columns.model_dump(exclude_none=True) == columns
    assert {key: value for key, value in found.tags.model_dump(exclude_none=True).items() if key in tags} == tags
    assert found.why.code.startswith("sniff.")


def test_what_cannot_be_read_is_recognised_as_nothing_and_says_why(tmp_path: Path) -> None:
    found = formats.sniff(formats.find(write(tmp_path, "rows.json", "{")))
    assert (found.format, found.why.code, found.why.parameters["why"]) == (None, "sniff.unreadable", "json.syntax")
    assert formats.sniff(formats.find(write(tmp_path, "rows.json", "[]"))).why.code == "sniff.no_rows"
    assert formats.sniff(formats.find(write(tmp_path, "rows.txt", "a"))).format == "text"
