"""A failure that is not ours, told as what it is: a database that is away."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error as broken

from webui.api_errors import DATABASE_AWAY, RETRY_SECONDS, database_away

log = logging.getLogger(__name__)


class KnownFailures:
    """Middleware: answers for views that such a failure has ended."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return answer(request, error)


def answer(request: HttpRequest, error: BaseException | None) -> HttpResponse | None:
    """The page, or the API's finding, for a failure that is known; None for any other."""
    if not isinstance(error, DATABASE_AWAY):
        return None
    log.error("%s %s: the database is away: %s", request.method, request.path, error)
    return database_away() if request.path.startswith("/api/") else _page()


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler of what nobody has caught: an outer middleware may have met a known failure, too."""
    return answer(request, sys.exc_info()[1]) or broken(request)


def _page() -> HttpResponse:
    """Without the request: its person and its session are rows of the database."""
    response = HttpResponse(render_to_string("503.html"), status=503)
    response["Retry-After"] = str(RETRY_SECONDS)
    return response
