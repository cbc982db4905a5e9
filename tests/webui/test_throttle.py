"""Guessing is slowed down by who really asks, not by what a header says."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from tests.jobs.test_worker import database_url
from tests.servers import wait_until
from tests.source import ROOT
from webui.asgi import believing
from webui.demo.child import die_with
from webui.demo.processes import free_port, healthy, local_address, web_child

PASSWORD = "a long enough password"
Login = Callable[[str, str], int]


@pytest.fixture
def login() -> Login:
    def log_in(address: str, password: str) -> int:
        client = Client(REMOTE_ADDR=address)
        status: int = client.post("/login/", {"username": "dora", "password": password}).status_code
        return status

    return log_in


@pytest.fixture
def dora(settings: LazySettings) -> User:
    settings.LOGIN_FAILURES_PER_NAME = 8
    return User.objects.create_user("dora", password=PASSWORD)


def guess_from_many_addresses(login: Login, count: int) -> None:
    assert {login(f"10.0.0.{number}", "wrong") for number in range(count - 1)} == {200}
    assert login("10.0.0.99", "wrong") == 429


def test_a_name_is_guessed_from_many_addresses_only_so_often(dora: User, login: Login) -> None:
    guess_from_many_addresses(login, 8)
    assert login("10.0.1.1", PASSWORD) == 429
    assert login("10.0.1.1", "wrong") == 429


def test_others_do_not_lock_a_person_out_of_where_they_have_logged_in_before(dora: User, login: Login) -> None:
    assert login("192.0.2.7", PASSWORD) == 302
    guess_from_many_addresses(login, 8)
    assert login("192.0.2.7", PASSWORD) == 302
    assert login("192.0.2.8", PASSWORD) == 429


def test_one_address_alone_locks_out_only_itself(dora: User, login: Login) -> None:
    for _ in range(20):
        login("10.0.0.1", "wrong")
    assert login("10.0.0.1", PASSWORD) == 429
    assert login("10.0.0.2", PASSWORD) == 302


@pytest.mark.parametrize(
    ("proxies", "seen"), [([], "127.0.0.1"), (["127.0.0.0/8"], "203.0.113.5"), (["10.0.0.1"], "127.0.0.1")]
)
async def test_only_a_trusted_proxy_is_believed(proxies: list[str], seen: str) -> None:
    scope: dict[str, Any] = {
        "type": "http",
        "scheme": "http",
        "client": ("127.0.0.1", 4000),
        "headers": [(b"x-forwarded-for", b"203.0.113.5")],
    }
    clients: list[str] = []

    async def application(scope: dict[str, Any], receive: object, send: object) -> None:
        clients.append(scope["client"][0])

    await believing(proxies, application)(scope, None, None)
    assert clients == [seen]


@pytest.fixture
def site(data_dir: Path, transactional_db: None) -> Iterator[str]:
    """The address of a real server as the demo starts it, on the test's own rows."""
    port = free_port("127.0.0.1", 18500)
    assert port is not None
    address = local_address("127.0.0.1", port)
    env = os.environ | {"DATABASE_URL": database_url(), "TRAINYARD_DATA_DIR": str(data_dir)}
    command = web_child("127.0.0.1", port).argv
    process = subprocess.Popen(command, cwd=ROOT, env=env, preexec_fn=die_with(os.getpid()))
    wait_until(lambda: healthy(address), 60, "the server")
    yield address
    process.kill()
    process.wait()


@pytest.mark.django_db(transaction=True)
def test_a_header_of_the_visitors_own_making_does_not_help(site: str, settings: LazySettings) -> None:
    statuses = [_guess(site, f"9.9.9.{number}") for number in range(settings.AXES_FAILURE_LIMIT + 2)]
    assert statuses[-2:] == [429, 429]


def _guess(site: str, pretended: str) -> int:
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    page = browser.open(f"{site}/login/").read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token is not None
    form = urllib.parse.urlencode({"username": "nobody", "password": "x", "csrfmiddlewaretoken": token[1]}).encode()
    try:
        answer = browser.open(urllib.request.Request(f"{site}/login/", form, {"X-Forwarded-For": pretended}))
        return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
