"""How a dataset is read and looked at: the form on its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Dataset, Team, Weights
from webui.fields import FIELDS, Field

PREFIX = "train.dataset."
READ_BY = tuple(one for path, one in FIELDS.items() if path.startswith(PREFIX) and path != f"{PREFIX}path")
"""Fields of the spec that say how a dataset is read."""
SHOWN_FIRST = (f"{PREFIX}format", f"{PREFIX}template", f"{PREFIX}train_on", f"{PREFIX}broken_rows")
FORMAT = f"{PREFIX}format"
USUAL_LENGTH = 2048


class InspectForm(forms.Form):
    """Inputs named by spec paths, with the tokenizer and the length to look at."""

    tokenizer = forms.ChoiceField(label=gettext_lazy("Tokenizer of"), required=False)
    seq_length = forms.IntegerField(
        label=gettext_lazy("Sequence length"), min_value=8, max_value=10_000_000, required=False
    )

    def __init__(self, dataset: Dataset, user: User, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, label_suffix="", initial=_initial(dataset))
        self.dataset = dataset
        chosen = self.initial["tokenizer"]
        self.fields["tokenizer"].choices = [  # type: ignore[attr-defined]
            ("", _("none: characters only")),
            *((row.path, row.name) for row in _weights(dataset, user)),
        ]
        if data is None and chosen not in {path for path, _name in self.fields["tokenizer"].choices}:  # type: ignore[attr-defined]
            self.initial["tokenizer"] = ""
        for one in READ_BY:
            self.fields[one.path] = _field(one)
        for field in self.fields.values():
            field.widget.attrs["class"] = "form-select" if isinstance(field.widget, forms.Select) else "form-control"

    def first(self) -> Iterator[forms.BoundField]:
        """What everybody looks at."""
        for name in (*SHOWN_FIRST, "tokenizer", "seq_length"):
            if name in self.fields:
                yield self[name]

    def more(self) -> list[forms.BoundField]:
        """Other names of columns and of what stands in them."""
        return [self[one.path] for one in READ_BY if one.path not in SHOWN_FIRST]

    def options(self) -> dict[str, str]:
        """What is kept with the dataset: how it is read, without the format, which has a column of its own."""
        return {
            one.path: self.cleaned_data[one.path]
            for one in READ_BY
            if one.path != FORMAT and self.cleaned_data[one.path] not in ("", usual(one))
        }

    def asked(self) -> dict[str, Any]:
        read_as = {**self.options(), FORMAT: self.cleaned_data[FORMAT]}
        return _asked(read_as, self.cleaned_data["tokenizer"], self.cleaned_data["seq_length"])


def usual(one: Field) -> str:
    """What an input holds where nothing else was wanted."""
    return one.choices[0][0] if one.kind == "choice" else ""


def default_asked(dataset: Dataset) -> dict[str, Any]:
    """What a first report looks at: as the dataset is read, with the tokenizer of the team's first weights."""
    initial = _initial(dataset)
    return _asked(initial, initial["tokenizer"], initial["seq_length"])


def _asked(read_as: Mapping[str, Any], tokenizer: str, seq_length: int | None) -> dict[str, Any]:
    """The question to the engine: `train.dataset.columns.prompt` becomes `columns: {prompt: …}`."""
    asked: dict[str, Any] = {"tokenizer": tokenizer, "seq_length": seq_length}
    for path, value in read_as.items():
        if path.startswith(PREFIX) and value:
            *parents, last = path.removeprefix(PREFIX).split(".")
            part = asked
            for name in parents:
                part = part.setdefault(name, {})
            part[last] = value
    return asked


def _initial(dataset: Dataset) -> dict[str, Any]:
    """As it was last looked at, else as it is most likely to be used."""
    last = dataset_last_asked(dataset)
    weights = Weights.objects.filter(team=dataset.team).first() if last is None else None
    tokenizer = (weights.path if weights else "") if last is None else last.get("tokenizer", "")
    length = USUAL_LENGTH if last is None else last.get("seq_length")
    return {**dataset.options, FORMAT: dataset.format, "tokenizer": tokenizer, "seq_length": length}


def dataset_last_asked(dataset: Dataset) -> dict[str, Any] | None:
    from jobs.models import Inspection

    last = Inspection.objects.filter(version__dataset=dataset).first()
    return None if last is None else last.asked


def _weights(dataset: Dataset, user: User) -> list[Weights]:
    """Of the dataset's team only: a report is seen by all of it."""
    if not Team.objects.of(user).filter(pk=dataset.team_id).exists():
        return []
    return list(Weights.objects.filter(team=dataset.team_id))


def _field(one: Field) -> forms.Field:
    if one.kind == "choice":
        choices: list[Any] = [("", _("as it looks")), *one.choices] if one.path == FORMAT else list(one.choices)
        return forms.ChoiceField(label=str(one.label), choices=choices, required=False)
    widget = forms.TextInput({"placeholder": str(one.placeholder)})
    return forms.CharField(label=str(one.label), required=False, max_length=200, widget=widget)


def limit_words() -> str:
    """The largest upload, for people."""
    return f"{settings.UPLOAD_LIMIT_BYTES / 1e9:g} GB"
