"""Failures that are not ours, told as what they are: a database that is away, a text that is none."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error as broken

from webui.api_errors import DATABASE_AWAY, RETRY_SECONDS, database_away, not_text

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
    by_api = request.path.startswith("/api/")
    if isinstance(error, DATABASE_AWAY):
        log.error("%s %s: the database is away: %s", request.method, request.path, error)
        return database_away() if by_api else _page(503)
    if isinstance(error, UnicodeEncodeError):  # a lone surrogate: no text, and nothing that can be stored or shown
        return not_text() if by_api else _page(400)
    return None


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler of what nobody has caught: an outer middleware may have met a known failure, too."""
    return answer(request, sys.exc_info()[1]) or broken(request)


def _page(status: int) -> HttpResponse:
    """Without the request: its person and its session are rows of the database."""
    response = HttpResponse(render_to_string(f"{status}.html"), status=status)
    if status == 503:
        response["Retry-After"] = str(RETRY_SECONDS)
    return response
