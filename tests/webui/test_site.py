"""The house around the pages: login, languages, policy, health, error pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

AsUser = Callable[[User], Client]
PAGES = ("/jobs/", "/jobs/new/", "/datasets/")


def _login(client: Client, password: str) -> int:
    status: int = client.post("/login/", {"username": "dora", "password": password}).status_code
    return status


def test_a_person_logs_in_and_out(client: Client) -> None:
    User.objects.create_user("dora", password="a long enough password")
    assert _login(client, "wrong") == 200
    assert _login(client, "a long enough password") == 302
    assert client.get("/jobs/").status_code == 200
    assert client.post("/logout/").status_code == 302
    assert client.get("/jobs/").status_code == 302


def test_guessing_is_throttled_even_for_the_right_password(client: Client, settings: LazySettings) -> None:
    User.objects.create_user("dora", password="a long enough password")
    answers = [_login(client, f"guess {number}") for number in range(settings.AXES_FAILURE_LIMIT)]
    assert answers[-1] == 429
    response = client.post("/login/", {"username": "dora", "password": "a long enough password"})
    assert response.status_code == 429
    assert "Too many attempts" in response.content.decode()


@pytest.mark.parametrize("address", [*PAGES, "/login/"])
def test_pages_carry_a_strict_policy_and_obey_it(
    as_user: AsUser, alice: User, tables: None, client: Client, address: str
) -> None:
    response = (client if address == "/login/" else as_user(alice)).get(address)
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    page = response.content.decode()
    assert not re.findall(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\sstyle=|\son[a-z]+=|javascript:|hx-on", page)
    assert not re.findall(r"(?:src|href|action)=\"(?:https?:)?//", page)


@pytest.mark.parametrize("address", [*PAGES, "/login/"])
def test_pages_speak_both_languages(as_user: AsUser, alice: User, tables: None, client: Client, address: str) -> None:
    person = client if address == "/login/" else as_user(alice)
    english = person.get(address, headers={"accept-language": "en"}).content.decode()
    chinese = person.get(address, headers={"accept-language": "zh-CN"}).content.decode()
    assert '<html lang="en">' in english
    assert '<html lang="zh-hans">' in chinese
    heading = re.compile(r"<h1[^>]*>(.*?)</h1>")
    assert heading.findall(english) != heading.findall(chinese)


def test_the_chosen_language_is_remembered(as_user: AsUser, alice: User) -> None:
    client = as_user(alice)
    response = client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/jobs/"})
    assert response.headers["Location"] == "/jobs/"
    assert '<html lang="zh-hans">' in client.get("/jobs/").content.decode()


def test_health_names_what_is_away(client: Client, redis_server: object) -> None:
    assert client.get("/healthz").json() == {"database": "ok", "redis": "ok"}


def test_health_says_when_redis_is_away(client: Client, settings: LazySettings, tmp_path: Path) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    response = client.get("/healthz")
    assert (response.status_code, response.json()["redis"]) == (200, "unreachable")


def test_metrics_are_for_staff_and_for_a_scraper_with_the_token(
    client: Client, as_user: AsUser, alice: User, settings: LazySettings
) -> None:
    assert client.get("/metrics").status_code == 403
    assert client.get("/metrics", headers={"authorization": "Bearer "}).status_code == 403
    assert as_user(alice).get("/metrics").status_code == 403
    settings.METRICS_TOKEN = "a token"
    assert client.get("/metrics", headers={"authorization": "Bearer wrong"}).status_code == 403
    told = client.get("/metrics", headers={"authorization": "Bearer a token"})
    assert (told.status_code, b"process_cpu" in told.content) == (200, True)
    alice.is_staff = True
    alice.save()
    assert as_user(alice).get("/metrics").status_code == 200


def test_a_banner_tells_that_the_engine_is_being_installed(as_user: AsUser, alice: User, data_dir: Path) -> None:
    client = as_user(alice)
    marker = data_dir / "run" / "engine-installing"
    assert "engine-banner" not in client.get("/jobs/").content.decode()
    marker.write_text("Downloading torch-2.13.0 (190.1 MB)", encoding="utf-8")
    assert "being installed" in client.get("/jobs/").content.decode()
    assert "Downloading torch" in client.get("/jobs/").content.decode()
    assert "being installed" in client.get("/engine-banner/").content.decode()
    marker.unlink()
    done = client.get("/engine-banner/").content.decode()
    assert "Jobs can start now" in done
    assert "hx-get" not in done


def test_a_failed_installation_of_the_engine_is_told(as_user: AsUser, alice: User, data_dir: Path) -> None:
    (data_dir / "run" / "engine-failed").touch()
    client = as_user(alice)
    for page in ("/jobs/", "/engine-banner/"):
        assert "could not be installed" in client.get(page).content.decode()
        assert "Jobs can start now" not in client.get(page).content.decode()


def test_error_pages_stand_alone(client: Client, settings: LazySettings) -> None:
    settings.DEBUG = False
    missing = client.get("/nothing/", headers={"accept-language": "zh-CN"})
    assert missing.status_code == 404
    assert "css/error.css" in missing.content.decode()
    assert "style=" not in missing.content.decode()


def test_a_form_that_is_too_big_has_a_page_of_ours(as_user: AsUser, alice: User, settings: LazySettings) -> None:
    settings.DEBUG = False
    response = as_user(alice).post("/jobs/new/", "x" * 3_000_000, content_type="application/x-www-form-urlencoded")
    assert response.status_code == 400
    assert "css/error.css" in response.content.decode()


def test_robots_are_asked_to_stay_out(client: Client) -> None:
    assert b"Disallow: /" in client.get("/robots.txt").content


def test_an_ended_session_leads_the_whole_page_to_the_login(client: Client) -> None:
    headers = {"hx-request": "true", "hx-current-url": "http://testserver/jobs/new/?from=3"}
    response = client.post("/jobs/check/", headers=headers)
    assert response.headers["HX-Redirect"] == "/login/?next=/jobs/new/%3Ffrom%3D3"
    assert response.content == b""
