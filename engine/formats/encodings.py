"""What the bytes of a file are, where they are not the UTF-8 text that they should be."""

from __future__ import annotations

import codecs
from typing import BinaryIO

from engine.formats.sample import Broken

HEAD = 1 << 16
"""Bytes at the begin of a file that are looked at; and around a byte that is no UTF-8."""
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    **{b"BZh%d1AY&SY" % level: "bzip2" for level in range(1, 10)},
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
}
_BINARY = {
    b"\x89HDF": "HDF5",
    b"ARROW1": "Arrow",
    b"SQLite format": "SQLite",
    b"%PDF-": "PDF",
    b"\xd0\xcf\x11\xe0": "Excel",
}
_UTF16 = ((codecs.BOM_UTF32_LE, "UTF-32"), (codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))
PARQUET = b"PAR1"


def refusal(head: bytes, file: str) -> Broken | None:
    """Why a file that begins so cannot be read as text at all."""
    for start, kind in _PACKED.items():
        if head.startswith(start):
            return Broken(1, "file.compressed", {"kind": kind}, file, ends=True)
    for start, kind in _BINARY.items():
        if head.startswith(start):
            return Broken(1, "file.binary", {"kind": kind}, file, ends=True)
    wide = _wide(head)
    return Broken(1, "file.encoding", {"encoding": wide}, file, ends=True) if wide else None


def _wide(head: bytes) -> str | None:
    """UTF-16 and UTF-32, with a mark or without: every second byte of ASCII characters is zero there."""
    for mark, name in _UTF16:
        if head.startswith(mark):
            return name
    even, odd = head[0:512:2], head[1:512:2]
    if len(odd) < 4:
        return None
    zeros = (even.count(0) / len(even), odd.count(0) / len(odd))
    return {(True, False): "UTF-16BE", (False, True): "UTF-16LE"}.get((zeros[0] > 0.4, zeros[1] > 0.4))


def wrong_byte(file: BinaryIO, offset: int, line: int, column: int, name: str) -> Broken:
    """What to say of a byte at `offset` that is no UTF-8: the encoding that the file has, if it can be told, and then
    nothing behind it is read."""
    file.seek(max(0, offset - column + 1))
    if _is_gbk(file.read(HEAD)):
        return Broken(line, "file.encoding", {"encoding": "GBK", "column": column}, name, ends=True)
    return Broken(line, "file.not_utf8", {"column": column}, name)


def _is_gbk(data: bytes) -> bool:
    """Does it decode as GB18030, into Chinese for the most part? Most Latin texts do not decode at all."""
    try:
        text = codecs.getincrementaldecoder("gb18030")().decode(data)
    except UnicodeDecodeError:
        return False
    foreign = [character for character in text if not character.isascii()]
    chinese = sum(
        "\u4e00" <= one <= "\u9fff" or "\u3000" <= one <= "\u303f" or one in "，。！？：；（）" for one in foreign
    )
    return bool(foreign) and chinese / len(foreign) > 0.8
