"""Answers of the API that are no results: each is a finding in the shape of `check`."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

RETRY_SECONDS = 15
"""What a client is told to wait while the database cannot be used."""
DATABASE_AWAY = (OperationalError, InterfaceError)
"""Locked, full, read-only or not to be reached: nothing that the request has done."""


class NoTeam(Exception):
    """The person does not work in the team that they name, or in none at all."""


def json_response(value: Any, status: int = 200) -> HttpResponse:
    """Spelled as the command line spells it."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return HttpResponse(text, status=status, content_type="application/json")


def refusal(status: int, code: str, message: str, field: str = "") -> HttpResponse:
    """A refusal that is not about a request's content, in the shape of a finding."""
    problem = {"code": code, "field": field, "severity": "error", "message": message, "remedy": "", "parameters": {}}
    return json_response({"fits": False, "problems": [problem]}, status)


def database_away() -> HttpResponse:
    message = _("The database cannot be used now. Try again in a moment.")
    response = refusal(503, "site.database_away", message)
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def handle(api: NinjaAPI) -> None:
    """Have the API answer its errors so."""
    for kind in DATABASE_AWAY:
        api.add_exception_handler(kind, lambda request, error: database_away())
    api.add_exception_handler(RequestDataTooBig, _too_big)
    api.add_exception_handler(NoTeam, _no_team)
    api.add_exception_handler(AuthenticationError, _unauthenticated)
    api.add_exception_handler(ValidationError, _wrong_parameter)
    api.add_exception_handler(HttpError, _refused)


def _too_big(request: HttpRequest, error: Any) -> HttpResponse:
    return refusal(413, "request.too_big", _("The request is too big."))


def _no_team(request: HttpRequest, error: Any) -> HttpResponse:
    return refusal(403, "team.not_yours", _("You do not work in such a team."))


def _unauthenticated(request: HttpRequest, error: Any) -> HttpResponse:
    return refusal(401, "login.needed", _("Log in first."))


def _wrong_parameter(request: HttpRequest, error: Any) -> HttpResponse:
    return refusal(422, "parameter.wrong", _("A parameter of the address cannot be read."))


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    status = getattr(error, "status_code", 400)
    return refusal(status, f"http.{status}", str(error))
