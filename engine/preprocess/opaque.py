"""A text that a chat template may only pass on: whatever it asks about the text is written down or refused.

Given to a template in the place of what a person wrote, it shows how the template treats texts: which literals
it puts around them, whether it strips them, and what they must not contain for that to hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPEN, CLOSE = '\ue000"', '"\ue001'
"""Around a number. Quotation marks, so that a text which was made JSON or HTML of is no longer recognized."""
STRIPS = ("strip", "lstrip", "rstrip")
_ASKED = ("startswith", "endswith", "__contains__")


class Seen(BaseException):
    """The template looked at the text itself. Not an Exception: Jinja's own tests would take it for an answer."""


Question = tuple[int, str, tuple[Any, ...]]
"""Which text, which method of str, its arguments. Every answer was no."""
Slot = tuple[int, tuple[tuple[str, tuple[Any, ...]], ...]]
"""Which text, and the strips that were done to it, in order."""


class Notes:
    """What happened to the opaque texts of one rendering."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.questions: set[Question] = set()
        self.filled: set[int] = set()
        """Texts that were asked whether they are empty, and were said not to be."""

    def text(self, number: int, strips: tuple[tuple[str, tuple[Any, ...]], ...] = ()) -> Opaque:
        self.slots.append((number, strips))
        opaque = Opaque(f"{OPEN}{len(self.slots) - 1}{CLOSE}")
        opaque.notes, opaque.number, opaque.strips = self, number, strips
        return opaque


class Opaque(str):
    """Of one message, or (number < 0) a text with some in it, which may only be passed on."""

    __slots__ = ("notes", "number", "strips")
    notes: Notes
    number: int
    strips: tuple[tuple[str, tuple[Any, ...]], ...]

    def __add__(self, other: str) -> Opaque:
        return _joined(self.notes, str.__add__(self, other))

    def __radd__(self, other: str) -> Opaque:
        return _joined(self.notes, str.__add__(other, self))

    def __bool__(self) -> bool:
        if self.number >= 0 and not self.strips:
            self.notes.filled.add(self.number)
        elif self.number >= 0:
            raise Seen
        return True

    def __str__(self) -> str:
        return self

    def __hash__(self) -> int:
        raise Seen


def _joined(notes: Notes, text: str) -> Opaque:
    opaque = Opaque(text)
    opaque.notes, opaque.number, opaque.strips = notes, -1, ()
    return opaque


def _strip(name: str) -> Callable[..., Opaque]:
    def method(self: Opaque, *arguments: Any) -> Opaque:
        if self.number < 0 or not all(one is None or type(one) is str for one in arguments):
            raise Seen
        return self.notes.text(self.number, (*self.strips, (name, arguments)))

    return method


def _ask(name: str) -> Callable[..., bool]:
    def method(self: Opaque, *arguments: Any) -> bool:
        if self.number < 0 or self.strips or not all(type(one) is str for one in arguments):
            raise Seen
        self.notes.questions.add((self.number, name, arguments))
        return False

    return method


def _refuse(self: Opaque, *arguments: Any, **named: Any) -> Any:
    raise Seen


_KEPT = {
    *dir(object), "__add__", "__radd__", "__bool__", "__str__", "__hash__", "__slots__",
} - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__format__"}  # fmt: skip
for _name in dir(str):
    if _name in STRIPS:
        setattr(Opaque, _name, _strip(_name))
    elif _name in _ASKED:
        setattr(Opaque, _name, _ask(_name))
    elif _name not in _KEPT:
        setattr(Opaque, _name, _refuse)
