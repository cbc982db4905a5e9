"""What is about the site itself: health, metrics, the installation banner, robots."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView

REDIS_TIMEOUT_SECONDS = 1.0


def engine_state() -> dict[str, Any]:
    """How far the installation of the engine's packages is: the installer keeps these files up to date.

    Keys: `installing`, the installer's present line in `line`, and `failed`.
    """
    run = Path(settings.DATA_DIR) / "run"
    try:
        return {"installing": True, "line": (run / "engine-installing").read_text(encoding="utf-8"), "failed": False}
    except FileNotFoundError:
        return {"installing": False, "line": "", "failed": (run / "engine-failed").exists()}


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """State of what the site stands on: 200 when the database answers, else 503. Redis may be away for a while."""
    states = {"database": _database_state(), "redis": _redis_state()}
    return JsonResponse(states, status=200 if states["database"] == "ok" else 503)


def _database_state() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "unreachable"
    return "ok"


def _redis_state() -> str:
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=REDIS_TIMEOUT_SECONDS, socket_connect_timeout=REDIS_TIMEOUT_SECONDS
        ) as client:
            client.ping()
    except (redis.RedisError, OSError):
        return "unreachable"
    return "ok"


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus' text format, for staff or for a scraper that knows TRAINYARD_METRICS_TOKEN."""
    expected = f"Bearer {settings.METRICS_TOKEN}"
    by_token = settings.METRICS_TOKEN and secrets.compare_digest(
        request.headers.get("Authorization", "").encode(), expected.encode()
    )
    if not by_token and not request.user.is_staff:
        raise PermissionDenied
    response: HttpResponse = ExportToDjangoView(request)  # type: ignore[no-untyped-call]
    return response


@require_safe
@login_required
@never_cache
def engine_banner(request: HttpRequest) -> HttpResponse:
    """The banner's content; it asks again for itself until the engine is there."""
    state = engine_state()
    return render(request, "webui/engine_banner.html", {**state, "just_finished": not state["installing"]})


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    return HttpResponse("User-agent: *\nDisallow: /\n", content_type="text/plain")
