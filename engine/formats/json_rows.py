"""JSON values of a file one by one, each with the line on which it starts.

Reads a JSON array (streamed: a file larger than memory is no trouble) and JSON lines; the first
character decides, not the file's ending, since both are found under `.json`.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from engine.formats import encodings, text_rows
from engine.formats.places import Places
from engine.formats.records import LONGEST_ROW, Record, json_object
from engine.formats.sample import Broken
from engine.problems import Value

CHUNK = 1 << 20
_SPACE = re.compile(r"[ \t\n\r]*")
_TAIL = 32
"""A value that ends this near to the end of what was read may go on behind it (a number, a word)."""
_DECODER = json.JSONDecoder(object_pairs_hook=json_object)


class NotText(Exception):
    """The file is not UTF-8."""

    def __init__(self, byte: int) -> None:
        self.byte = byte


class TooLong(Exception):
    """A value goes on beyond LONGEST_ROW."""


def records(stream: BinaryIO, file: str, places: Places | None = None) -> Iterator[Record | Broken]:
    """Every JSON value. What is no JSON comes out as Broken; an array breaks off there."""
    places = places or Places()
    if _first_byte(stream) == b"[":
        yield from _array(stream, file, places)
    else:
        places.follow("lines", stream.tell)
        yield from _lines(stream, file)


def _first_byte(stream: BinaryIO) -> bytes:
    head = stream.read(CHUNK).removeprefix(codecs.BOM_UTF8).lstrip()
    stream.seek(0)
    return head[:1]


def _lines(stream: BinaryIO, file: str) -> Iterator[Record | Broken]:
    for item in text_rows.lines(stream, file):
        if isinstance(item, Broken):
            yield item
            continue
        number, line = item
        try:
            yield Record(number, _DECODER.decode(line), file)
        except json.JSONDecodeError as error:
            yield Broken(number, "json.syntax", {"column": error.pos + 1, "expected": error.msg}, file)
        except (RecursionError, ValueError):  # nested too deep; a number of thousands of digits
            yield Broken(number, "json.unreadable", {}, file)


class _Scanner:
    """A window on the text of a file, which knows the line of every place in it."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._name = name
        self._reader = codecs.getincrementaldecoder("utf-8")()
        self._file = file
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(0)
        self.text = ""
        self.at = 0
        self.line = 1
        self._line_start = 0
        self.ended = False

    def more(self) -> None:
        """Double the window, so that one value of any size is parsed in linear time."""
        if len(self.text) - self.at > LONGEST_ROW:
            raise TooLong
        waiting = len(self._reader.getstate()[0])
        start = self._file.tell() - waiting
        data = self._file.read(max(CHUNK, len(self.text)))
        self.ended = not data
        try:
            self.text = self.text[self.at :] + self._reader.decode(data, final=self.ended)
        except UnicodeDecodeError as error:
            raise NotText(start + error.start) from error
        self._line_start -= self.at
        self.at = 0

    def byte(self) -> int:
        """Where in the file `at` is."""
        return self._file.tell() - len(self._reader.getstate()[0]) - len(self.text[self.at :].encode())

    def move(self, to: int) -> None:
        breaks = self.text.count("\n", self.at, to)
        if breaks:
            self.line += breaks
            self._line_start = self.text.rindex("\n", self.at, to) + 1
        self.at = to

    def skip_space(self) -> str:
        """Go to the next character that is no space and return it; empty at the end of the file."""
        while True:
            match = _SPACE.match(self.text, self.at)
            assert match is not None
            self.move(match.end())
            if self.at < len(self.text) or self.ended:
                return self.text[self.at : self.at + 1]
            self.more()

    def value(self) -> Any:
        """Parse the value that starts here. Raises json.JSONDecodeError with a place in `text`."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if self.ended or not _may_be_cut(error, len(self.text)):
                    raise
            else:
                if self.ended or end + _TAIL < len(self.text):
                    self.move(end)
                    return value
            self.more()

    def broken(self, expected: str, at: int | None = None) -> Broken:
        self.move(self.at if at is None else at)
        where: dict[str, Value] = {"column": self.at - self._line_start + 1, "expected": expected}
        return Broken(self.line, "json.syntax", where, self._name, ends=True)


def _may_be_cut(error: json.JSONDecodeError, length: int) -> bool:
    return error.msg.startswith("Unterminated string") or error.pos + _TAIL >= length


def _array(stream: BinaryIO, file: str, places: Places) -> Iterator[Record | Broken]:
    scanner = _Scanner(stream, file)
    places.follow("array", scanner.byte)
    try:
        yield from _items(scanner, file)
    except json.JSONDecodeError as error:
        yield scanner.broken(error.msg, error.pos)
    except NotText as error:
        yield _not_text(stream, error.byte, file)
    except TooLong:
        yield Broken(scanner.line, "row.too_long", {"limit": LONGEST_ROW >> 20}, file, ends=True)
    except (RecursionError, ValueError):
        yield Broken(scanner.line, "json.unreadable", {}, file, ends=True)


def _items(scanner: _Scanner, file: str) -> Iterator[Record | Broken]:
    scanner.skip_space()
    scanner.move(scanner.at + 1)
    if scanner.skip_space() != "]":
        while True:
            scanner.skip_space()
            line = scanner.line
            yield Record(line, scanner.value(), file)
            separator = scanner.skip_space()
            if separator == "]":
                break
            if separator != ",":
                yield scanner.broken("Expecting ',' delimiter")
                return
            scanner.move(scanner.at + 1)
    scanner.move(scanner.at + 1)
    if scanner.skip_space():
        yield scanner.broken("Extra data")


def _not_text(stream: BinaryIO, byte: int, file: str) -> Broken:
    """Find the line of a wrong byte, by its offset."""
    stream.seek(0)
    line, start, left = 1, 0, byte
    while left > 0:
        data = stream.read(min(CHUNK, left))
        if not data:
            break
        if (last := data.rfind(b"\n")) >= 0:
            line += data.count(b"\n")
            start = byte - left + last + 1
        left -= len(data)
    return replace(encodings.wrong_byte(stream, byte, line, byte - start + 1, file), ends=True)
