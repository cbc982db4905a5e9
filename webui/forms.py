"""The form of a job: between what a browser posts and the raw mapping that the engine checks.

Nothing is judged here. A wrong number goes on as it is, so that the check reports every problem at once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from webui.fields import CONSTANTS, FIELDS, SECTIONS, Field, Section


@dataclass(frozen=True)
class Suggestion:
    """A value to choose. `sets` is what else follows from the choice, by path."""

    value: str
    label: str
    sets: dict[str, str] = field(default_factory=dict)

    @property
    def sets_json(self) -> str:
        """For the page's script."""
        return json.dumps(self.sets, ensure_ascii=False)


@dataclass(frozen=True)
class Offers:
    """What can be chosen at this site by this person."""

    models: list[tuple[str, list[tuple[str, str]]]]
    hardware: list[tuple[str, str]]
    suggestions: dict[str, list[Suggestion]]


def to_data(post: Mapping[str, Any]) -> dict[str, Any]:
    """The nested mapping of a posted form. An empty input is left out: its default rules, or it is missing."""
    data: dict[str, Any] = dict(CONSTANTS)
    for path, one in FIELDS.items():
        text = str(post.get(path) or "").strip()
        value = path in post if one.kind == "flag" else _value(one, text)
        if value is not None:
            set_path(data, path, value)
    return data


def set_path(data: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for name in parents:
        data = data.setdefault(name, {})
    data[last] = value


def _value(one: Field, text: str) -> Any:
    """The value of an input, or the text itself where it is not one; None when nothing was entered."""
    if not text:
        return None
    if one.kind == "lines":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if one.kind == "words":
        return text.replace(",", " ").split()
    if one.kind == "yes_no":
        return {"true": True, "false": False}.get(text, text)
    if one.kind == "int" or one.path.endswith("zero_stage"):
        return _number(text, int)
    return _number(text, float) if one.kind == "float" else text


def _number(text: str, kind: type[int] | type[float]) -> int | float | str:
    try:
        number = kind(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def to_inputs(spec: Mapping[str, Any]) -> dict[str, str]:
    """The other way: what each input holds for a spec. A flag that is off is left out, as browsers do."""
    inputs: dict[str, str] = {}
    for path, one in FIELDS.items():
        value = get_path(spec, path)
        if value is None or (one.kind == "flag" and not value):
            continue
        inputs[path] = _input(one, value)
    return inputs


def get_path(data: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(data, Mapping):
            return None
        data = data.get(name)
    return data


def _input(one: Field, value: Any) -> str:
    if one.kind == "flag":
        return "on"
    if one.kind in ("lines", "words") and isinstance(value, (list, tuple)):
        return ("\n" if one.kind == "lines" else " ").join(str(item) for item in value)
    if one.kind == "yes_no":
        return str(value).lower()
    return _float_text(value) if isinstance(value, float) else str(value)


def _float_text(value: float) -> str:
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


class JobForm(forms.Form):
    """Inputs named by spec paths, filled from `inputs`. Whether they make sense is the engine's to say."""

    def __init__(self, inputs: Mapping[str, Any], offers: Offers) -> None:
        super().__init__(data=inputs)
        self.offers = offers
        for path, one in FIELDS.items():
            self.fields[path] = _form_field(one, self._choices(one, str(inputs.get(path) or "")))

    def _choices(self, one: Field, chosen: str) -> list[Any]:
        """The choices, and what was chosen if it is none of them, so that the page does not hide a wrong value."""
        if one.path == "model":
            known = {value for _family, group in self.offers.models for value, _label in group}
            choices: list[Any] = [("", _("choose a model")), *self.offers.models]
        else:
            choices = list(self.offers.hardware if one.path == "hardware" else one.choices)
            known = {value for value, _label in choices}
        return choices if not chosen or chosen in known else [*choices, (chosen, chosen)]

    def sections(self) -> Iterator[tuple[Section, list[tuple[Field, forms.BoundField]]]]:
        for section in SECTIONS:
            yield section, [(one, self[one.path]) for one in section.fields]


def input_id(path: str) -> str:
    """DOM id of a field's input."""
    return f"id_{path}"


def _form_field(one: Field, choices: list[Any]) -> forms.Field:
    widget, attrs = _widget(one, choices)
    attrs |= {"id": input_id(one.path), "autocomplete": "off", "spellcheck": "false"}
    if one.required:
        attrs["aria-required"] = "true"
    if one.hint:
        attrs["aria-describedby"] = f"hint_{one.path}"
    if one.placeholder and not isinstance(widget, forms.Select):
        attrs["placeholder"] = str(one.placeholder) if isinstance(one.placeholder, Promise) else one.placeholder
    widget.attrs.update(attrs)
    return forms.Field(label=str(one.label), widget=widget, required=False)


def _widget(one: Field, choices: list[Any]) -> tuple[forms.Widget, dict[str, Any]]:
    if one.kind in ("choice", "yes_no"):
        return forms.Select(choices=choices), {"class": "form-select"}
    if one.kind == "lines":
        return forms.Textarea(), {"class": "form-control", "rows": 3}
    if one.kind == "flag":
        return forms.CheckboxInput(), {"class": "form-check-input"}
    attrs: dict[str, Any] = {"class": "form-control"}
    if one.kind in ("int", "float"):
        # Not type=number: a browser would keep a wrong number to itself.
        attrs |= {"inputmode": "numeric" if one.kind == "int" else "decimal", "class": "form-control number"}
    if one.suggestions:
        attrs["list"] = f"list_{one.suggestions}"
    return forms.TextInput(), attrs
