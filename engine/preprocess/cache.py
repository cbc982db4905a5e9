"""Finished sets by fingerprint, shared by everybody who prepares data on the same disk.

<root>/<fingerprint>/            a finished set: its files, and entry.json, which says how large each has to be
<root>/<fingerprint>.building/   one that is being made, or whose maker was killed: the next one goes on with it
<root>/<fingerprint>.lock        held by whoever makes, checks or takes a set; others wait
<root>/hashes/                   hashes of large files (engine.preprocess.fingerprint)

A set appears by a rename, so that it is never seen half. Runs have hard links to its files: what is deleted here is
still theirs. A set that no run has any more, and that nobody has asked for in a while, is deleted.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from engine.run_folder import read_json, write_atomic

ENTRY = "entry.json"
KEPT_DAYS = 14
DAY = 24 * 60 * 60
READ_ONLY = 0o444


class Entry:
    """One set of the cache, while its lock is held."""

    def __init__(self, root: Path, key: str) -> None:
        self.folder, self.building = root / key, root / f"{key}.building"

    def facts(self) -> dict[str, Any] | None:
        """What was told of a whole set; None if there is none, or if a file of it is not as it was."""
        entry = _read(self.folder / ENTRY)
        return None if entry is None or self._damage(entry["files"]) else dict(entry["facts"])

    def discard_damaged(self) -> str | None:
        """Take away a set that is there and not whole; returns the name of the file that showed it."""
        if not self.folder.exists():
            return None
        entry = _read(self.folder / ENTRY)
        name = ENTRY if entry is None else self._damage(entry["files"])
        if name is not None:
            shutil.rmtree(self.folder)
        return name

    def publish(self, facts: dict[str, Any], names: Sequence[str]) -> None:
        """Make a set of what was built, from these files of the folder; what else is in it goes."""
        files = {}
        for name in names:
            path = self.building / name
            facts_of = path.stat()
            files[name] = {"size": facts_of.st_size} | (
                {"hash": _hash(path)} if name.endswith(".idx") else {"mtime": facts_of.st_mtime_ns}
            )
        write_atomic(self.building / ENTRY, json.dumps({"facts": facts, "files": files}))
        self.finish_publishing()

    def finish_publishing(self) -> None:
        """The last steps, which a killed process may have left."""
        entry = _read(self.building / ENTRY)
        if entry is None:
            return
        for path in self.building.iterdir():
            if path.name in entry["files"]:
                path.chmod(READ_ONLY)  # its links are the files of runs
            elif path.name != ENTRY:
                path.unlink()
        self.building.rename(self.folder)

    def discard_building(self) -> None:
        shutil.rmtree(self.building, ignore_errors=True)

    def give(self, names: dict[str, Path]) -> None:
        """Put the set's files where they are wanted, indexes last; what is there is replaced.

        Indexes that are there go first: one of an older set would fit tokens of the same number.
        """
        for name, target in names.items():
            if name.endswith(".idx"):
                target.unlink(missing_ok=True)
        for name, target in sorted(names.items(), key=lambda one: one[0].endswith(".idx")):
            _link(self.folder / name, target)
        with suppress(PermissionError):  # of somebody else, who has it
            os.utime(self.folder / ENTRY)

    def _damage(self, files: dict[str, dict[str, Any]]) -> str | None:
        """The first file that is missing, was written to, or has another size or index than it should."""
        return next((name for name, told in files.items() if not _is_as_told(self.folder / name, told)), None)


@contextmanager
def locked(root: Path, key: str, on_wait: Callable[[], None]) -> Iterator[Entry]:
    """The entry of a fingerprint, for one at a time. `on_wait` is called if another one has it."""
    root.mkdir(parents=True, exist_ok=True)
    _prune(root, key)
    descriptor = _lock(root / f"{key}.lock", on_wait)
    try:
        yield Entry(root, key)
    finally:
        os.close(descriptor)


def _lock(path: Path, on_wait: Callable[[], None]) -> int:
    while True:
        descriptor = _opened(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)  # it was deleted while we waited


def _opened(path: Path) -> int:
    """A lock of another person of the machine can be held too, without writing to it."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _prune(root: Path, wanted: str) -> None:
    """Delete what nobody has any more. An entry in use has its lock held."""
    oldest = time.time() - KEPT_DAYS * DAY
    for lock in root.glob("*.lock"):
        key = lock.stem
        if key == wanted or not _is_forgotten(Entry(root, key), oldest):
            continue
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):  # another one is at it, or it is theirs
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for folder in (root / key, root / f"{key}.building"):
                shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)


def _is_forgotten(entry: Entry, oldest: float) -> bool:
    try:
        paths = [path for folder in (entry.folder, entry.building) if folder.is_dir() for path in folder.iterdir()]
        facts = [path.stat() for path in paths]
    except FileNotFoundError:  # another one is at it
        return False
    return all(one.st_nlink == 1 for one in facts) and all(one.st_mtime < oldest for one in facts) and bool(facts)


def _is_as_told(path: Path, told: dict[str, Any]) -> bool:
    try:
        facts = path.stat()
        untouched = facts.st_size == told["size"] and told.get("mtime") in (None, facts.st_mtime_ns)
        return untouched and ("hash" not in told or _hash(path) == told["hash"])
    except FileNotFoundError:
        return False


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = read_json(path)
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"facts", "files"} <= found.keys() else None


def _link(source: Path, target: Path) -> None:
    """A hard link; on another disk a copy, which appears as a whole."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:
        _copy(source, temporary)
    temporary.replace(target)


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError:
        target.unlink(missing_ok=True)  # a part of a file on a full disk keeps it full
        raise
