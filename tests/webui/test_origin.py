"""Which pages may open a socket: those of the host that is asked, and those that are trusted by name."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from webui.origin import is_ours


@pytest.mark.parametrize(
    ("origin", "host", "ours"),
    [
        ("http://localhost:8000", "localhost:8000", True),
        ("https://localhost", "localhost", True),
        ("https://localhost", "localhost:443", True),
        ("http://LocalHost:80", "localhost", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://localhost:9", "localhost:8000", False),
        ("http://localhost", "localhost:8000", False),
        ("http://127.0.0.1:8000", "localhost:8000", False),
        ("http://elsewhere:8000", "elsewhere:8000", False),
        ("ftp://localhost:8000", "localhost:8000", False),
        ("http://localhost:99999", "localhost:99999", False),
        ("http://[::1", "localhost", False),
        ("null", "localhost", False),
        ("", "", False),
    ],
)
def test_the_whole_origin_is_compared(settings: LazySettings, origin: str, host: str, ours: bool) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
    assert is_ours(origin, host) is ours


@pytest.mark.parametrize(
    ("origin", "ours"),
    [
        ("https://train.example.org", True),
        ("https://train.example.org:443", True),
        ("http://train.example.org", False),
        ("https://train.example.org:8443", False),
        ("https://a.labs.example.org", True),
        ("https://evil-labs.example.org", False),
    ],
)
def test_a_trusted_origin_may_have_another_host(settings: LazySettings, origin: str, ours: bool) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://train.example.org", "https://*.labs.example.org"]
    assert is_ours(origin, "backend:8000") is ours
