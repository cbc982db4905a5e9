"""The reader of a page: in which language the engine's texts are told."""

from __future__ import annotations

from django.utils.translation import get_language

from engine.problem_texts import known


def language() -> str:
    """The reader's language as the engine's texts call it."""
    return known(get_language() or "en")


def sentences(*parts: str) -> str:
    """Sentences after each other; Chinese puts no space between them."""
    return ("" if language() == "zh-hans" else " ").join(part for part in parts if part)


def full_stop() -> str:
    """What ends a sentence."""
    return "。" if language() == "zh-hans" else "."
