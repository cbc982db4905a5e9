"""A verdict in one sentence about the devices, with what would fit instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.planner import Verdict
from engine.planner.verdict import Instead, Question
from engine.problem_texts import known
from engine.problems import Problem, Value
from engine.readable import words
from engine.readable.words import gib
from engine.texts import sentences
from engine.texts.entry import Text

_UNKNOWN = ("model.unknown", "hardware.unknown")
_LATIN_THEN_CHINESE = re.compile(r"(?<=[A-Za-z0-9])(?=[一-鿿])")
_CHINESE_THEN_LATIN = re.compile(r"(?<=[一-鿿])(?=[A-Za-z0-9])")


def sentence(verdict: Verdict, language: str) -> str:
    """Empty where the model or the hardware is not known, or one of the fields is wrong: the findings say it then."""
    question = verdict.question or (None if verdict.spec is None else Question.of(verdict.spec))
    errors = {problem.code: problem for problem in verdict.problems if problem.severity == "error"}
    if question is None or any(code in errors for code in _UNKNOWN):
        return ""
    speaker = _Speaker(question, known(language))
    return speaker.joined(_refusal(verdict, errors, speaker) or _acceptance(verdict, speaker), verdict.instead)


@dataclass(frozen=True)
class _Speaker:
    question: Question
    language: str

    def say(self, text: Text, numbers: Mapping[str, Value] | None = None, **more: str) -> str:
        asked = self.question
        numbers = {"devices": asked.devices, **(numbers or {})}
        named = {
            "model": asked.model,
            "strategy": words.strategy(asked.strategy, self.language),
            "seq_length": asked.seq_length,
            "framework": words.framework(asked.framework),
            "hardware": words.hardware(asked.hardware),
            "unit": words.units(asked.hardware, self.language),
        }
        head = sentences.HEAD.message(self.language).format_map(named)
        counted = {f"{name}_units": self._count(number) for name, number in numbers.items()}
        return self._spaced(text.message(self.language).format(head=head, **named, **numbers, **counted, **more))

    def _count(self, number: Value) -> str:
        return words.count(number, self.question.hardware, self.language) if isinstance(number, int) else str(number)

    def _spaced(self, text: str) -> str:
        """Between Chinese and Latin letters stands a space."""
        return _CHINESE_THEN_LATIN.sub(" ", _LATIN_THEN_CHINESE.sub(" ", text))

    def joined(self, decided: str, others: tuple[Instead, ...]) -> str:
        english = self.language == "en"
        if not others:
            return decided
        told = ("; " if english else "；").join(self._other(one) for one in others)
        return f"{decided} {told}." if english else f"{decided}{told}。"

    def _other(self, one: Instead) -> str:
        what = str(one.value)
        if one.field == "train.seq_length":
            what = sentences.LENGTH.message(self.language).format(value=one.value).strip()
        elif one.field == "train.strategy":
            what = words.strategy(what, self.language)
        elif one.field == "framework":
            what = words.framework(what)
        text = sentences.FITS if one.devices <= self.question.devices else sentences.NEEDS
        return self.say(text, {"needed": one.devices}, what=what)


TOO_FEW = ("devices.too_few", "devices.too_few_for_shorter", "devices.memory")


def _refusal(verdict: Verdict, errors: Mapping[str, Problem], speaker: _Speaker) -> str:
    """Empty where no error is about the devices."""
    for code, text in sentences.REFUSALS.items():
        if code == "devices.too_few" and (needed := _needed(verdict, errors)):
            return speaker.say(text, {"needed": needed})
        if code in errors and code != "devices.too_few":
            given = errors[code].parameters
            return speaker.say(text, {name: given[name] for name in ("most", "per_node", "step") if name in given})
    return ""


def _needed(verdict: Verdict, errors: Mapping[str, Problem]) -> int:
    """The devices that a request is short of; 0 if it is not."""
    short = [errors[code].parameters for code in TOO_FEW if code in errors]
    if not short:
        return 0
    numbers = [one.get(name) for one in short for name in ("minimum", "enough")]
    return max(number for number in (*numbers, verdict.devices.floor or 0) if isinstance(number, int))


def _acceptance(verdict: Verdict, speaker: _Speaker) -> str:
    need = verdict.devices
    native = next((one for one in verdict.problems if one.code == "devices.native_estimate"), None)
    if native is not None:
        return speaker.say(sentences.NATIVE, gib=gib(float(native.parameters["needed"] or 0)))
    if need.table is not None and need.suspect:
        return speaker.say(sentences.DOUBTED, {"table": need.table, "safer": need.recommended})
    if need.table is not None:
        return speaker.say(sentences.PRINTED, {"table": need.table})
    if need.floor is not None:
        return speaker.say(sentences.ESTIMATED, {"floor": need.floor, "recommended": need.recommended or need.floor})
    return speaker.say(sentences.UNKNOWN)
