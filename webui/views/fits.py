"""What fits? For a model, and for the devices that one has."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webui.fits_page import context


@require_safe
@login_required
@never_cache
def fits(request: HttpRequest) -> HttpResponse:
    """`?model=`, or `?hardware=&devices=`; without either, this site's own devices."""
    return render(request, "webui/fits.html", context(request.GET))
