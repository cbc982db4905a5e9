"""Lines of a text file, one by one, without holding more than a line."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from engine.formats import encodings
from engine.formats.records import LONGEST_ROW, Record
from engine.formats.sample import Broken


def records(stream: BinaryIO, file: str) -> Iterator[Record | Broken]:
    """Every line that is not blank, as a row with the key `text`."""
    for item in lines(stream, file):
        yield item if isinstance(item, Broken) else Record(item[0], {"text": item[1].rstrip("\r\n")}, file)


def lines(stream: BinaryIO, file: str, *, blank: bool = False) -> Iterator[tuple[int, str] | Broken]:
    """Every line (those that are blank too, if asked for) with its number; a byte order mark is passed over.

    A line that is no UTF-8 is passed over and said; a file in another encoding is left at its first such line.
    """
    number = 0
    while raw := stream.readline(LONGEST_ROW + 1):
        number += 1
        if len(raw) > LONGEST_ROW:
            _pass_line(stream, raw)
            yield Broken(number, "row.too_long", {"limit": LONGEST_ROW >> 20}, file)
            continue
        marked = number == 1 and raw.startswith(codecs.BOM_UTF8)
        try:
            line = raw.decode("utf-8-sig" if marked else "utf-8")
        except UnicodeDecodeError as error:
            after, start = stream.tell(), len(codecs.BOM_UTF8) if marked else 0
            offset = after - len(raw) + start + error.start
            broken = encodings.wrong_byte(stream, offset, number, error.start + 1, file)
            stream.seek(after)
            yield broken
            if broken.reason == "file.encoding":
                return
            continue
        if blank or not line.isspace():
            yield number, line


def _pass_line(stream: BinaryIO, raw: bytes) -> None:
    while raw and not raw.endswith(b"\n"):
        raw = stream.readline(LONGEST_ROW)
