"""The job history: filters, keyset paging, and the last run of each job, in a constant number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from django_filters.filters import CharFilter, ChoiceFilter, ModelChoiceFilter
from django_filters.filterset import FilterSet

from jobs.models import Job, Run, Team, TrainableModel
from jobs.states import RunState

PAGE_SIZE = 50
_HEAVY = ("spec", "plan", "verdict")


class JobFilter(FilterSet):
    """What the history can be narrowed to.

    Models and people are those of the site, not those of the jobs: looking through 100,000 jobs takes 0.2 s.
    """

    text = CharFilter(  # type: ignore[no-untyped-call]
        field_name="name", lookup_expr="icontains", label=_("Name contains"), widget=forms.TextInput({"type": "search"})
    )
    state = ChoiceFilter(  # type: ignore[no-untyped-call]
        field_name="last_state", choices=RunState.choices, label=_("State"), empty_label=_("any")
    )
    model = ChoiceFilter(label=_("Model"), empty_label=_("any"))  # type: ignore[no-untyped-call]
    owner = ModelChoiceFilter(  # type: ignore[no-untyped-call]
        queryset=User.objects.none(), label=_("Owner"), empty_label=_("anyone")
    )

    class Meta:
        model = Job
        fields = ("text", "state", "model", "owner")

    def __init__(self, data: QueryDict, queryset: QuerySet[Job], user: User | AnonymousUser) -> None:
        super().__init__(data, queryset)  # type: ignore[no-untyped-call]
        models = {*TrainableModel.objects.values_list("name", flat=True), *filter(None, [data.get("model")])}
        self.filters["model"].extra["choices"] = [(name, name) for name in sorted(models)]
        self.filters["owner"].queryset = (
            User.objects.filter(teams__in=Team.objects.of(user)).distinct().order_by("username")
        )
        self.form.label_suffix = ""
        for bound in self.form.fields.values():
            css = "form-select" if isinstance(bound.widget, forms.Select) else "form-control"
            bound.widget.attrs["class"] = f"{css} {css}-sm"


@dataclass(frozen=True)
class Page:
    """Some jobs, each with `last` (its newest run), and the cursor of the next page."""

    jobs: list[Job]
    next_cursor: str | None


def jobs_of(user: User | AnonymousUser) -> QuerySet[Job]:
    """The jobs that a person may see, newest first, with the state of their last run."""
    last = Run.objects.filter(job=OuterRef("pk")).order_by("-number")
    return (
        Job.objects.visible_to(user)
        .annotate(last_id=Subquery(last.values("pk")[:1]), last_state=Subquery(last.values("state")[:1]))
        .select_related("owner", "team")
        .defer(*_HEAVY)
        .order_by("-created", "-id")
    )


def page(jobs: QuerySet[Job], cursor: str | None, size: int = PAGE_SIZE) -> Page:
    """One page after the cursor. An unreadable cursor means the first page."""
    found = list(_after(jobs, cursor)[: size + 1])
    shown = found[:size]
    attach_last_runs(shown)
    return Page(shown, _cursor(shown[-1]) if len(found) > size else None)


def attach_last_runs(jobs: list[Job]) -> None:
    runs = Run.objects.in_bulk([job.last_id for job in jobs if job.last_id])  # type: ignore[attr-defined]
    for job in jobs:
        job.last = runs.get(job.last_id)  # type: ignore[attr-defined]


def _cursor(job: Job) -> str:
    return f"{job.created.isoformat()}_{job.pk}"


def _after(jobs: QuerySet[Job], cursor: str | None) -> QuerySet[Job]:
    """Jobs older than the cursor.

    Spelled `created <= c AND NOT (created = c AND id >= i)`: the form with OR does not use the index.
    """
    if not cursor:
        return jobs
    try:
        created_text, _separator, number = cursor.rpartition("_")
        created, pk = datetime.fromisoformat(created_text), int(number)
    except ValueError:
        return jobs
    return jobs.filter(created__lte=created).exclude(Q(created=created) & Q(pk__gte=pk))


def without(query: QueryDict, *names: str, **values: Any) -> str:
    """The query string with some parameters taken out and others put in."""
    changed = query.copy()
    for name in names:
        changed.pop(name, None)
    for name, value in values.items():
        changed[name] = value
    return changed.urlencode()
