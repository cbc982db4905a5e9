"""What the result of preprocessing depends on, as one short name: the same name means the same bytes.

It is made of the contents of the data's files, of the tokenizer's files, of the settings, of our own code and of
the versions of the libraries that render and encode. Where the files lie and what they are called does not matter.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from os import stat_result
from pathlib import Path
from typing import Any

from engine.formats import DataFile
from engine.run_folder import read_json, write_atomic

LIBRARIES = ("tokenizers", "transformers", "jinja2", "gigatoken", "pyarrow")
ROOMS = ("preprocess", "formats", "families")
"""Our code that decides about tokens."""
TOKENIZER_SUFFIXES = (".json", ".jinja", ".model", ".txt", ".tiktoken")
NOT_OF_TOKENIZER = ("generation_config.json", "trainyard.json")
SETTLED_SECONDS = 2.0
"""A file that was written this shortly ago may be written again without a new time of change."""
BLOCK = 1 << 20


def fingerprint(files: Sequence[DataFile], tokenizer: Path, settings: dict[str, Any], memory: Path) -> str:
    """The name, 32 hexadecimal digits. `memory` is a folder in which hashes of large files are kept. Raises OSError."""
    parts = {
        "data": [(file.path.suffix.lower(), content(file.path, memory)) for file in files],
        "tokenizer": [(path.name, content(path, memory)) for path in _tokenizer_files(tokenizer)],
        "settings": settings,
        "code": _code(),
    }
    return _digest(json.dumps(parts, sort_keys=True, default=str).encode())


def content(path: Path, memory: Path) -> str:
    """Hash of a file's contents; remembered as long as the file is the same and untouched."""
    before = path.stat()
    kept = memory / f"{_digest(str(path).encode())}.json"
    known = _remembered(kept)
    if isinstance(known, dict) and known.get("identity") == _identity(before):
        return str(known["hash"])
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    settled = time.time() - max(before.st_mtime, before.st_ctime) > SETTLED_SECONDS
    if settled and _identity(path.stat()) == _identity(before):
        with suppress(OSError):  # a folder that cannot be written to: then it is hashed again next time
            memory.mkdir(parents=True, exist_ok=True)
            told = {"path": str(path), "identity": _identity(before), "hash": digest.hexdigest()}
            write_atomic(kept, json.dumps(told))
    return digest.hexdigest()


def _remembered(path: Path) -> Any:
    """None also for what is damaged or not ours to read."""
    try:
        return read_json(path)
    except (ValueError, OSError):
        return None


def identities(files: Sequence[DataFile], tokenizer: Path) -> list[list[int]]:
    """To see whether any file was exchanged or written to in between; those of the tokenizer too. Raises OSError."""
    paths = (*(file.path for file in files), *_tokenizer_files(tokenizer))
    return [_identity(path.stat()) for path in paths]


def _identity(facts: stat_result) -> list[int]:
    return [facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns]


def _tokenizer_files(folder: Path) -> Iterator[Path]:
    """Everything small in a model's folder that a tokenizer may be made of; its weights are not."""
    found = (*folder.glob("*"), *folder.glob("additional_chat_templates/*"))
    for path in sorted(found):
        wanted = path.suffix in TOKENIZER_SUFFIXES and path.name not in NOT_OF_TOKENIZER
        if wanted and not path.name.endswith(".index.json") and path.is_file():
            yield path


@cache
def _code() -> dict[str, str]:
    engine = Path(__file__).parents[1]
    sources = sorted(path for room in ROOMS for path in (engine / room).rglob("*.py"))
    ours = {str(path.relative_to(engine)): _digest(path.read_bytes()) for path in sources}
    return ours | {name: _version(name) for name in LIBRARIES}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
