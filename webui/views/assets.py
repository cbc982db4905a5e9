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
from jobs.models import Dataset, Team, Weights
from webui.asset_forms import AssetForm, DatasetForm, WeightsForm
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
        messages.success(request, _("Registered. It can be chosen for new jobs now."))
        return redirect("dataset-list")
    teams = Team.objects.of(user)
    context = {
        "datasets": Dataset.objects.filter(team__in=teams).select_related("team"),
        "weights": Weights.objects.filter(team__in=teams).select_related("team"),
        "forms": forms,
        "roots": settings.ROOTS,
        "in_teams": teams.exists(),
    }
    return render(request, "webui/dataset_list.html", context, status=422 if kind in forms else 200)
