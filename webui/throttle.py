"""Slows down guessing of passwords: by name and address, and, far later, by name from all addresses together."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest
from django.utils import timezone

KNOWN_FOR = timedelta(days=90)
"""An address from which a person has logged in is known as theirs for so long."""


class Throttle(AxesDatabaseHandler):
    """Beside axes' limit for a name from one address: one for a name from wherever, for those who have many addresses.

    It does not hold where the person has logged in before: nobody is locked out of their own desk by others.
    """

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        failures: int = super().get_failures(request, credentials)
        return max(failures, settings.AXES_FAILURE_LIMIT) if self._is_besieged(request, credentials) else failures

    def _is_besieged(self, request: HttpRequest, credentials: dict[str, Any] | None) -> bool:
        name = get_client_username(request, credentials)
        attempts = AccessAttempt.objects.filter(username=name, attempt_time__gte=get_cool_off_threshold(request))
        by_address = attempts.values_list("ip_address").annotate(Sum("failures_since_start"))
        # What an address goes on to ask while it is locked out counts no more: one address cannot besiege a name.
        failures = sum(min(count, settings.AXES_FAILURE_LIMIT) for _, count in by_address)
        return failures >= settings.LOGIN_FAILURES_PER_NAME and not _is_known(name, request)


def _is_known(name: str | None, request: HttpRequest) -> bool:
    address = request.axes_ip_address  # type: ignore[attr-defined]
    since = timezone.now() - KNOWN_FOR
    return bool(AccessLog.objects.filter(username=name, ip_address=address, attempt_time__gte=since).exists())
