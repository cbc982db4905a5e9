"""Lets in only WebSockets that a page of this very site has opened."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

DEFAULT_PORTS = {"http": "80", "https": "443"}


class SameOrigin:
    """Denies a socket whose Origin is neither the Host that was asked, port included, nor a trusted origin.

    The scheme is not compared: behind a proxy it is not known. A socket without an Origin is none of a browser.
    """

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        headers = dict(scope["headers"])
        origin, host = (headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
        application = self.application if is_ours(origin, host) else WebsocketDenier()
        return await application(scope, receive, send)


def is_ours(origin: str, host: str) -> bool:
    """Whether a page of this origin may open a socket at this host."""
    try:
        parts = urlsplit(origin)
        name, port = parts.hostname or "", str(parts.port or DEFAULT_PORTS.get(parts.scheme, ""))
    except ValueError:
        return False
    if not name or parts.scheme not in DEFAULT_PORTS:
        return False
    if any(_matches(parts.scheme, name, port, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS):
        return True
    asked, asked_port = split_domain_port(host.lower())
    same = asked.strip("[]") == name and (asked_port or DEFAULT_PORTS[parts.scheme]) == port
    return same and validate_host(asked, settings.ALLOWED_HOSTS)


def _matches(scheme: str, name: str, port: str, trusted: str) -> bool:
    """As for forms: `https://*.example.org` stands for every name below."""
    wanted = urlsplit(trusted.replace("://*.", "://.", 1))
    wanted_port = str(wanted.port or DEFAULT_PORTS.get(wanted.scheme, ""))
    return (scheme, port) == (wanted.scheme, wanted_port) and validate_host(name, [wanted.hostname or ""])
