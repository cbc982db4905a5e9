"""Middleware of the pages."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django_htmx.http import HttpResponseClientRedirect


class WholePageLogin:
    """When a session has ended, a fragment's request leads the whole page to the login, not the fragment."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        wants_login = response.status_code == 302 and response["Location"].startswith(resolve_url(settings.LOGIN_URL))
        if not wants_login or not request.headers.get("HX-Request"):
            return response
        page = request.htmx.current_url_abs_path or resolve_url(settings.LOGIN_REDIRECT_URL)  # type: ignore[attr-defined]
        return HttpResponseClientRedirect(redirect_to_login(page)["Location"])
