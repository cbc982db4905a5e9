"""Forms of the page of datasets and weights."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from engine import formats
from engine.problem_texts import message, remedy
from jobs.assets import Unusable, register_dataset, register_weights
from jobs.models import Dataset, Team, Weights
from webui.fields import FORMAT_LABELS
from webui.reader import language, sentences

FIELD_OF = {"train.dataset.path": "path", "train.dataset.format": "format", "model_path": "path"}


class AssetForm(forms.Form):
    """What both kinds have. `register` says whether it was taken; if not, the errors are on the fields."""

    name = forms.CharField(label=_("Name"), max_length=120)
    path = forms.CharField(label=_("Path"), max_length=1000)
    team = forms.ModelChoiceField(label=_("Team"), queryset=Team.objects.none(), empty_label=None)

    def __init__(self, user: User, prefix: str, data: Any = None) -> None:
        super().__init__(data, prefix=prefix, label_suffix="")
        self.user = user
        self.entry: Dataset | Weights | None = None
        """What was registered."""
        teams = Team.objects.of(user)
        self.fields["team"].queryset = teams  # type: ignore[attr-defined]
        self.fields["team"].initial = teams.first()
        for field in self.fields.values():
            field.widget.attrs["class"] = "form-select" if isinstance(field.widget, forms.Select) else "form-control"

    def register(self) -> bool:
        if not self.is_valid():
            return False
        try:
            self._register()
        except Unusable as unusable:
            for problem in unusable.problems:
                words = sentences(message(problem, language()), remedy(problem, language()))
                self.add_error(FIELD_OF.get(problem.field), words)
            return False
        return True

    def _register(self) -> None:
        raise NotImplementedError


class DatasetForm(AssetForm):
    format = forms.ChoiceField(
        label=_("Format"),
        choices=[("", _("as it looks")), *((name, FORMAT_LABELS[name]) for name in formats.NAMES)],
        required=False,
    )

    def _register(self) -> None:
        self.entry = register_dataset(user=self.user, **self.cleaned_data)


class WeightsForm(AssetForm):
    model = forms.ChoiceField(label=_("Model"))

    def __init__(self, user: User, prefix: str, models: list[Any], data: Any = None) -> None:
        super().__init__(user, prefix, data)
        self.fields["model"].choices = models  # type: ignore[attr-defined]

    def _register(self) -> None:
        self.entry = register_weights(user=self.user, **self.cleaned_data)
