"""The name under which an uploaded file is kept: made harmless, and still recognisable."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from engine.formats.files import SUFFIXES

MOST_BYTES = 120
"""Of a name in UTF-8; file systems take 255."""
FALLBACK = "dataset"


def safe_name(name: str) -> str | None:
    """Letters and digits of any script, and `. _ - ( )`; no folder, not hidden. None: no ending that is read."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1].strip()
    stem, dot, suffix = last.rpartition(".")
    ending = f"{dot}{suffix}".lower()
    if ending not in SUFFIXES:
        return None
    clean = "".join(character if _is_harmless(character) else "_" for character in stem)
    clean = re.sub(r"_{2,}", "_", clean).strip("._- ")
    return (_shortened(clean, MOST_BYTES - len(ending)) or FALLBACK) + ending


def free_name(folder: Path, name: str) -> str:
    """This name, or with a number behind it where the folder has it already."""
    stem, suffix = Path(name).stem, Path(name).suffix
    number = 1
    candidate = name
    while (folder / candidate).exists() or (folder / candidate).is_symlink():
        number += 1
        candidate = f"{stem}-{number}{suffix}"
    return candidate


def _is_harmless(character: str) -> bool:
    return character in "._-()" or unicodedata.category(character)[0] in "LNM"


def _shortened(text: str, most: int) -> str:
    """Cut between characters."""
    return text.encode()[:most].decode(errors="ignore").rstrip("._- ")
