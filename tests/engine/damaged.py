"""Damaged datasets: what people really have, and what somebody might make on purpose."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

GOOD = {"instruction": "Where is platform 2?", "output": "Over the bridge."}
LINE = json.dumps(GOOD)


@dataclass(frozen=True)
class Damage:
    """make: writes into a folder and returns what is to be inspected. kept, dropped: rows. reasons: of drops.
    problems: codes of which each has to be among the findings."""

    make: Callable[[Path], Path]
    kept: int = 0
    dropped: int = 0
    reasons: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    usable: bool = False
    rooted: bool = False
    """The folder's `data` is the only root."""


def file(content: str | bytes, name: str = "rows.jsonl") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def lines(*rows: str) -> Callable[[Path], Path]:
    return file("\n".join(rows))


def chat(*turns: tuple[str, object]) -> str:
    return json.dumps({"conversations": [{"from": speaker, "value": value} for speaker, value in turns]})


ASKED = ("human", "Hello?")
SAID = ("gpt", "Here.")


def _outward_link(folder: Path) -> Path:
    (folder / "secret.jsonl").write_text(LINE)
    (folder / "data").mkdir()
    (folder / "data" / "rows.jsonl").symlink_to(folder / "secret.jsonl")
    return folder / "data"


def _loop(folder: Path) -> Path:
    (folder / "a.jsonl").symlink_to(folder / "b.jsonl")
    (folder / "b.jsonl").symlink_to(folder / "a.jsonl")
    return folder / "a.jsonl"


def _folder_loop(folder: Path) -> Path:
    (folder / "rows.jsonl").write_text(LINE)
    (folder / "again").symlink_to(folder)
    return folder


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "rows.jsonl")
    return folder / "rows.jsonl"


def _pipe_inside(folder: Path) -> Path:
    (folder / "a.jsonl").write_text(LINE)
    os.mkfifo(folder / "b.jsonl")
    return folder


def _socket(folder: Path) -> Path:
    here = Path.cwd()
    os.chdir(folder)  # the whole path may be too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("rows.jsonl")
    finally:
        os.chdir(here)
    return folder / "rows.jsonl"


def _zip(folder: Path) -> Path:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("rows.jsonl", "0" * 10_000_000)
    return file(buffer.getvalue(), "rows.jsonl")(folder)


def _parquet(**columns: list[object]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import pyarrow as arrow
        from pyarrow import parquet

        parquet.write_table(arrow.table(columns), folder / "rows.parquet")
        return folder / "rows.parquet"

    return make


def _many_rows(folder: Path) -> Path:
    """Fifty million rows in a few kilobytes."""
    import pyarrow as arrow
    from pyarrow import parquet

    column = arrow.repeat(arrow.scalar("a"), 1_000_000).dictionary_encode()
    table = arrow.table({"instruction": column, "output": column})
    with parquet.ParquetWriter(folder / "rows.parquet", table.schema) as writer:
        for _ in range(50):
            writer.write_table(table)
    return folder / "rows.parquet"


def _wide_page(folder: Path) -> Path:
    """A hundred megabytes of zeros in one cell, a few kilobytes on disk."""
    import pyarrow as arrow
    from pyarrow import parquet

    table = arrow.table({"instruction": ["0" * (100 << 20)], "output": ["b"]})
    path = folder / "rows.parquet"
    parquet.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    return path


def _cut_parquet(folder: Path) -> Path:
    path = _parquet(instruction=["a"] * 1000, output=["b"] * 1000)(folder)
    path.write_bytes(path.read_bytes()[:-100])
    return path


def _huge_row(folder: Path) -> Path:
    with (folder / "rows.jsonl").open("w") as made:
        made.write(json.dumps(GOOD) + "\n")
        made.write('{"instruction": "' + "word " * (10 << 20) + '", "output": "b"}\n')
        made.write(json.dumps({**GOOD, "output": "Mind the gap."}))
    return folder / "rows.jsonl"


def _odd_name(folder: Path) -> Path:
    return file(LINE, "two\nlines\x1b[31m.jsonl")(folder)


def _bytes_name(folder: Path) -> Path:
    path = os.fsencode(folder) + b"/\xff\xfe.jsonl"
    with open(path, "w") as made:  # noqa: PTH123 - the name is no text
        made.write(LINE)
    return folder


CSV = "instruction,output\n"
SYNTAX = ("json.syntax",)

CASES: dict[str, Damage] = {
    "a truncated array": Damage(
        file(f"[{LINE}, {LINE[:-8]}", "rows.json"), 1, 1, SYNTAX, ("dataset.broken_off",)
    ),
    "a truncated last line": Damage(lines(LINE, LINE[:-8]), 1, 1, SYNTAX, ("dataset.rows_dropped",), usable=True),
    "mixed types": Damage(
        lines(LINE, "3", '"text"', "null", "[1]", "true"), 1, 5, ("row.not_object",), usable=True
    ),
    "a null answer": Damage(
        lines(LINE, '{"instruction": "a", "output": null}'), 1, 1, ("row.not_text",), usable=True
    ),
    "a numeric answer": Damage(lines(LINE, '{"instruction": "a", "output": 3}'), 1, 1, ("row.not_text",), usable=True),
    "a role that is a list": Damage(
        lines('{"conversations": [{"from": ["human"], "value": "a"}, {"from": "gpt", "value": "b"}]}'),
        0, 1, ("row.not_text",), ("dataset.nothing_kept",),
    ),
    "nested lists": Damage(
        lines(LINE, '{"instruction": [["a"]], "output": [["b"]]}'), 1, 1, ("row.not_text",), usable=True
    ),
    "half a character": Damage(
        lines(LINE, r'{"instruction": "\ud83d", "output": "b"}'), 1, 1, ("row.bad_unicode",), usable=True
    ),
    "a key of half a character": Damage(
        lines(LINE, r'{"instruction": "a", "output": "b", "output\ud83d": "c"}'), 2, usable=True
    ),
    "a speaker of half a character": Damage(
        lines(chat(ASKED, SAID), r'{"conversations": [{"from": "\ud83d", "value": "b"}]}'),
        1, 1, ("row.bad_unicode",), usable=True,
    ),
    "a written NUL": Damage(
        lines(LINE, r'{"instruction": "a\u0000", "output": "b"}'), 1, 1, ("row.nul",), usable=True
    ),
    "raw NUL bytes": Damage(file(LINE.encode() + b"\n" + b"\x00" * 64 + b"\n"), 1, 1, SYNTAX, usable=True),
    "nothing but NUL bytes": Damage(file(b"\x00" * 4096), 0, 1, problems=("dataset.nothing_kept",)),
    "empty turns": Damage(
        lines(chat(ASKED, SAID), chat(("human", " "), SAID)), 1, 1, ("row.empty_turn",), usable=True
    ),
    "an empty answer": Damage(
        lines(chat(ASKED, SAID), chat(ASKED, ("gpt", ""))), 2, problems=("dataset.empty_answers_in",), usable=True
    ),
    "no turns": Damage(lines(chat(ASKED, SAID), chat()), 1, 1, ("row.empty",), usable=True),
    "two questions in a row": Damage(
        lines(chat(ASKED, SAID), chat(ASKED, ASKED)), 1, 1, ("row.role_order",), usable=True
    ),
    "a question without an answer": Damage(
        lines(chat(ASKED, SAID), chat(ASKED, SAID, ASKED)), 1, 1, ("row.no_answer",), usable=True
    ),
    "an unknown role": Damage(
        lines(chat(ASKED, SAID), chat(("narrator", "x"), SAID)), 1, 1, ("row.role_order",), usable=True
    ),
    "a byte order mark": Damage(file("\ufeff" + LINE), 1, usable=True),
    "a byte order mark before an array": Damage(file(f"\ufeff[{LINE}]", "rows.json"), 1, usable=True),
    "line ends of Windows": Damage(file(f"{LINE}\r\n\r\n{LINE}x\r\n"), 1, 1, SYNTAX, usable=True),
    "duplicate keys": Damage(
        lines(LINE, '{"instruction": "a", "output": "b", "output": "c"}'), 1, 1, ("row.duplicate_key",), usable=True
    ),
    "a Parquet file of numbers": Damage(
        _parquet(instruction=[1, 2], output=[3, 4]), 0, 2, ("row.no_format",), ("dataset.no_format",)
    ),
    "a Parquet file of other columns": Damage(
        _parquet(a=["x"], b=["y"]), 0, 1, ("row.no_format",), ("dataset.no_format",)
    ),
    "a truncated Parquet file": Damage(_cut_parquet, 0, 1, ("file.broken_parquet",), ("dataset.broken_off",)),
    "a Parquet file that is none": Damage(file("hello", "rows.parquet"), 0, 1, ("file.not_parquet",)),
    "fifty million rows in a few kilobytes": Damage(_many_rows, 0, 1, ("file.too_packed",)),
    "a hundred megabytes of zeros in a small Parquet file": Damage(_wide_page, 0, 1, ("file.too_packed",)),
    "no bytes": Damage(file(""), problems=("dataset.no_rows",)),
    "no rows": Damage(file("[]", "rows.json"), problems=("dataset.no_rows",)),
    "lines of blanks": Damage(file("  \n\t\n\r\n   \n"), problems=("dataset.no_rows",)),
    "an empty folder": Damage(lambda folder: folder, problems=("dataset.no_files",)),
    "nothing there": Damage(lambda folder: folder / "none.jsonl", problems=("dataset.missing",)),
    "a name with NUL": Damage(lambda folder: folder / "a\0b", problems=("path.unusable",)),
    "a name without end": Damage(lambda folder: folder / ("a" * 5000), problems=("dataset.unreadable",)),
    "a link out of the root": Damage(_outward_link, problems=("path.outside",), rooted=True),
    "a loop of links": Damage(_loop, problems=("path.unusable",)),
    "a folder that links to itself": Damage(_folder_loop, 1, usable=True),
    "a zip file": Damage(_zip, 0, 1, ("file.compressed",), ("dataset.broken_off",)),
    "a gzip bomb": Damage(
        file(gzip.compress(b"0" * 50_000_000), "rows.json"), 0, 1, ("file.compressed",), ("dataset.broken_off",)
    ),
    "GBK": Damage(
        file('{"instruction": "请介绍一下北京的历史和文化。", "output": "北京是中国的首都。"}'.encode("gbk")),
        0, 1, ("file.encoding",), ("dataset.broken_off",),
    ),
    "UTF-16": Damage(file(LINE.encode("utf-16")), 0, 1, ("file.encoding",), ("dataset.broken_off",)),
    "UTF-16 without a mark": Damage(file(LINE.encode("utf-16-le")), 0, 1, ("file.encoding",)),
    "Latin-1": Damage(
        file(LINE.encode() + b"\n" + '{"instruction": "é", "output": "ü"}'.encode("latin-1")),
        1, 1, ("file.not_utf8",), usable=True,
    ),
    "a pipe": Damage(_pipe, problems=("dataset.not_a_file",)),
    "a pipe in a folder": Damage(_pipe_inside, 1, problems=("dataset.not_a_file",)),
    "a socket": Damage(_socket, problems=("dataset.not_a_file",)),
    "a device": Damage(lambda folder: Path("/dev/zero"), problems=("dataset.not_a_file",)),
    "a name with a line break": Damage(_odd_name, 1, usable=True),
    "a name that is no text": Damage(_bytes_name, 1, usable=True),
    "deep nesting": Damage(lines(LINE, "[" * 200_000), 1, 1, ("json.unreadable",), usable=True),
    "deep nesting in an array": Damage(
        file(f"[{LINE}, {'[' * 200_000}", "rows.json"), 1, 1, ("json.unreadable",), ("dataset.broken_off",)
    ),
    "a number of five thousand digits": Damage(lines(LINE, "9" * 5000), 1, 1, ("json.unreadable",), usable=True),
    "a huge number": Damage(lines(LINE, '{"instruction": "a", "output": 1e999}'), 1, 1, ("row.not_text",), usable=True),
    "NaN and Infinity": Damage(
        lines(LINE, '{"instruction": "a", "output": NaN}', '{"instruction": -Infinity, "output": "b"}'),
        1, 2, ("row.not_text",), usable=True,
    ),
    "a trailing comma": Damage(
        file(f"[{LINE}, ]", "rows.json"), 1, 1, SYNTAX, ("dataset.broken_off",)
    ),
    "a trailing comma in a row": Damage(lines(LINE, '{"instruction": "a",}'), 1, 1, SYNTAX, usable=True),
    "an object of rows": Damage(
        file(json.dumps({"0": GOOD, "1": GOOD}), "rows.json"), 0, 1, ("row.no_format",), ("dataset.no_format",)
    ),
    "an indented object": Damage(
        file(json.dumps({"data": [GOOD]}, indent=1), "rows.json"), 0, 8, problems=("dataset.no_format",)
    ),
    "values without a line break": Damage(file(LINE + LINE), 0, 1, problems=("dataset.no_format",)),
    "two arrays": Damage(file(f"[{LINE}]\n[{LINE}]", "rows.json"), 1, 1, SYNTAX, ("dataset.broken_off",)),
    "ragged CSV": Damage(
        file(f"{CSV}a,b\nc\nd,e,f\n", "rows.csv"), 1, 2, ("csv.cells",), usable=True
    ),
    "an open quote in CSV": Damage(
        file(f'{CSV}a,b\n"c,d\ne,f\n', "rows.csv"), 1, 1, ("csv.syntax",), ("dataset.broken_off",)
    ),
    "empty cells in CSV": Damage(file(f"{CSV}a,b\n,\n", "rows.csv"), 1, 1, ("row.empty",), usable=True),
    "CSV with semicolons": Damage(file("instruction;output\na;b\n", "rows.csv"), 0, 1, ("csv.separator",)),
    "CSV with a column twice": Damage(
        file("instruction,output,output\na,b,c\n", "rows.csv"), 0, 1, ("row.duplicate_key",)
    ),
    "CSV without rows": Damage(file(CSV, "rows.csv"), problems=("dataset.no_rows",)),
    "a row of fifty megabytes": Damage(_huge_row, 2, 1, ("row.too_long",), usable=True),
    "a picture": Damage(file(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40), 0, problems=("dataset.nothing_kept",)),
}  # fmt: skip
