"""`Text`: one finding in English and Simplified Chinese."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """What is wrong and what to do about it, in both languages; the remedy may be empty."""

    en: str
    zh: str
    en_remedy: str = ""
    zh_remedy: str = ""

    def message(self, language: str) -> str:
        return self.en if language == "en" else self.zh

    def remedy(self, language: str) -> str:
        return self.en_remedy if language == "en" else self.zh_remedy
