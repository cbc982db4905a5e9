"""The teams' datasets and weights, and registering more of them."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from jobs.catalog import current
from jobs.datasets.uploads import open_uploads
from jobs.models import Dataset, Team, Weights
from webui.asset_forms import AssetForm, DatasetForm, WeightsForm
from webui.dataset_forms import default_asked, limit_words
from webui.datasets.asking import ask_quietly
from webui.datasets.listing import listed
from webui.offers import model_choices


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_list(request: HttpRequest) -> HttpResponse:
    """Both lists, each with its form. POST registers; `kind` says which form was sent."""
    user = cast(User, request.user)
    kind = request.POST.get("kind")
    forms: dict[str, AssetForm] = {
        "dataset": DatasetForm(user, "dataset", request.POST if kind == "dataset" else None),
        "weights": WeightsForm(user, "weights", model_choices(current()), request.POST if kind == "weights" else None),
    }
    if kind in forms and forms[kind].register():
        return _registered(request, forms[kind].entry)
    teams = Team.objects.of(user)
    context = {
        "datasets": listed(user),
        "unfinished": open_uploads(user),
        "teams": list(teams),
        "limit": limit_words(),
        "weights": Weights.objects.filter(team__in=teams).select_related("team"),
        "forms": forms,
        "roots": settings.ROOTS,
    }
    return render(request, "webui/dataset_list.html", context, status=422 if kind in forms else 200)


def _registered(request: HttpRequest, entry: Dataset | Weights | None) -> HttpResponse:
    messages.success(request, _("Registered. It can be chosen for new jobs now."))
    if not isinstance(entry, Dataset):
        return redirect("dataset-list")
    user = cast(User, request.user)
    ask_quietly(entry, default_asked(entry), user)
    return redirect("dataset", entry.pk)
