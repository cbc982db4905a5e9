"""Any row by its number is the row that a reading from the begin comes to."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from engine.formats import Broken, DataFile
from engine.formats.kinds import records
from engine.inspection import row_index
from engine.inspection.one_row import RAW_MOST, read_row
from engine.inspection.parquet_rows import reader
from engine.inspection.row_index import RowIndex

CHOOSER = random.Random(3)
ROWS: list[dict[str, Any]] = [
    {"instruction": f"q{n}\n中文" * CHOOSER.randint(1, 5), "input": "", "output": "a" * CHOOSER.randint(0, 300)}
    for n in range(400)
]
ARRAY = json.dumps(ROWS, ensure_ascii=False)


def _csv() -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(ROWS[0]))
    writer.writeheader()
    writer.writerows(ROWS)
    return text.getvalue()


FILES: dict[str, str | bytes] = {
    "plain.jsonl": "\n".join(json.dumps(row) + "\n" * (n % 3) for n, row in enumerate(ROWS)),
    "marked.jsonl": "\ufeff" + "\r\n".join("{oops" if n % 5 == 0 else json.dumps(row) for n, row in enumerate(ROWS)),
    "wrong_bytes.jsonl": b"\n".join(
        b"no \xff" if n % 7 == 0 else json.dumps(row).encode() for n, row in enumerate(ROWS)
    ),
    "far.jsonl": "\n".join(json.dumps({**row, "output": "b" * (n * 4000)}) for n, row in enumerate(ROWS[:70])),
    "one_line.json": ARRAY,
    "indented.json": "\ufeff\n\n" + json.dumps(ROWS, ensure_ascii=False, indent=2),
    "cut.json": ARRAY[:-300],
    "cut_between.json": ARRAY[: ARRAY.rindex("},") + 2],
    "extra.json": ARRAY + " xx",
    "lines.txt": "\n".join(row["instruction"] for row in ROWS),
    "rows.csv": _csv(),
    "ragged.csv": _csv() + 'a,b\n\n1,2,3\n"x',
}


@pytest.mark.parametrize("name", FILES)
def test_a_row_by_number_is_that_row(name: str, tmp_path: Path) -> None:
    content = FILES[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    file, form = DataFile(path, name), "text" if name.endswith(".txt") else "alpaca"
    expected = list(records(file, form, reader))
    made = RowIndex()
    assert list(row_index.indexed(file, form, made)) == expected
    row_index.save(tmp_path / "cache", file, form, made)
    index = row_index.load(tmp_path / "cache", file, form)
    assert index is not None
    assert (index.rows, index.marks) == (len(expected), made.marks)
    assert len(index.marks) > 3
    for number, record in enumerate(expected, start=1):
        found = read_row(file, form, index, number)
        assert found.record == record
        if not isinstance(record, Broken) and found.size <= RAW_MOST:
            assert _meant(name, found.raw) == record.value
    with pytest.raises(IndexError):
        read_row(file, form, index, len(expected) + 1)


def _meant(name: str, raw: str) -> Any:
    if name.endswith(".csv"):
        return dict(zip(ROWS[0], next(csv.reader(io.StringIO(raw))), strict=True))
    return {"text": raw} if name.endswith(".txt") else json.loads(raw)


def test_a_row_of_a_parquet_file_comes_out_of_its_group(tmp_path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.Table.from_pylist(ROWS), path, row_group_size=70)
    file, index = DataFile(path, path.name), RowIndex()
    expected = list(row_index.indexed(file, "alpaca", index))
    for number in (1, 70, 71, 257, 400):
        assert read_row(file, "alpaca", index, number).record == expected[number - 1]


def test_an_index_of_another_state_of_the_file_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROWS[0]))
    file = DataFile(path, path.name)
    assert row_index.whole(tmp_path / "cache", file, "alpaca").rows == 1
    path.write_text(json.dumps(ROWS[0]) + "\n" + json.dumps(ROWS[1]))
    assert row_index.load(tmp_path / "cache", file, "alpaca") is None
    assert row_index.whole(tmp_path / "cache", file, "alpaca").rows == 2
