"""What can be held of docker-compose.yml and Dockerfile without a container engine."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.source import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("setup", "web", "worker", "reconciler")
LASTING = tuple(name for name in SERVICES if name != "setup")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
OTHERS = {
    "POSTGRES_USER": "postgres",
    "POSTGRES_DB": "postgres",
    "POSTGRES_PASSWORD": "postgres",
    "TZ": "settings",
}
"""Names that are not of the form TRAINYARD_*, with whose they are."""
ONLY_HERE = {"TRAINYARD_PORT", "TRAINYARD_ENGINE"}
"""Filled into the file itself; no process sees them."""


def sources() -> str:
    """All text of ours that reads the environment."""
    files = [path for room in ("engine", "jobs", "webui") for path in (ROOT / room).rglob("*.py")]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def environment(service: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = service.get("environment", {})
    return found


def arguments(words: Any) -> list[str]:
    return shlex.split(words) if isinstance(words, str) else [str(word) for word in words]


def python_commands() -> Iterator[list[str]]:
    """Every command line of the services that starts Python, as arguments behind `python`."""
    for name in OURS:
        service = SERVICES[name]
        words = arguments(service.get("command", []))
        if words[:2] == ["sh", "-c"]:
            for part in words[2].split("&&"):
                yield shlex.split(part)[1:]
        elif words:
            yield words[1:]
        check = service.get("healthcheck", {}).get("test", [])
        if check[:2] == ["CMD", "python"]:
            yield check[2:]


def test_a_site_has_these_services() -> None:
    assert set(SERVICES) == {"setup", "web", "worker", "reconciler", "redis", "postgres"}


@pytest.mark.parametrize("name", LASTING)
def test_a_lasting_service_is_restarted_and_watched(name: str) -> None:
    assert SERVICES[name]["restart"] == "unless-stopped"
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert {"interval", "timeout", "retries"} <= set(check)


@pytest.mark.parametrize("name", ["web", "worker", "reconciler"])
def test_our_services_wait_for_what_they_stand_on(name: str) -> None:
    assert {service: wish["condition"] for service, wish in SERVICES[name]["depends_on"].items()} == {
        "setup": "service_completed_successfully",
        "postgres": "service_healthy",
        "redis": "service_healthy",
    }


def test_the_worker_stands_alone_so_that_a_web_restart_touches_no_training() -> None:
    assert "worker" not in SERVICES["web"]["depends_on"]
    assert all("web" not in SERVICES[name].get("depends_on", {}) for name in SERVICES)
    assert SERVICES["worker"]["image"] != SERVICES["web"]["image"]
    assert SERVICES["web"]["build"]["args"]["ENGINE"] == "none", "the web image has no torch to break"


def test_every_volume_is_named_and_used() -> None:
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service["volumes"]}
    assert used == set(COMPOSE["volumes"])
    assert all(SERVICES[name]["volumes"] == ["data:/data"] for name in OURS)
    assert all(environment(SERVICES[name])["TRAINYARD_DATA_DIR"] == "/data" for name in OURS)


@pytest.mark.parametrize("name", list(SERVICES))
def test_every_image_is_pinned(name: str) -> None:
    tag = SERVICES[name]["image"].partition(":")[2]
    assert re.match(r"\d+\.\d+", tag), SERVICES[name]["image"]


def test_the_base_image_is_pinned_and_new_enough() -> None:
    found = re.findall(r"^FROM python:(\d+)\.(\d+)\.\d+-\S+ AS", DOCKERFILE, re.MULTILINE)
    assert [(int(major), int(minor)) for major, minor in found] >= [(3, 11)]


@pytest.mark.parametrize("name", list(SERVICES))
def test_every_environment_name_is_read_by_somebody(name: str) -> None:
    code = sources()
    unknown = [key for key in environment(SERVICES[name]) if key not in OTHERS and f'"{key}"' not in code]
    assert unknown == []


def test_every_name_that_is_filled_in_is_known() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    code = sources() + (ROOT / "webui" / "demo" / "bootstrap.py").read_text(encoding="utf-8")
    names = set(re.findall(r"\$\{([A-Z_]+)", text)) - ONLY_HERE - set(OTHERS)
    assert [name for name in sorted(names) if f'"{name}"' not in code] == []


def test_the_environment_of_settings_can_be_set() -> None:
    """Each name that the settings document reaches some service."""
    docstring = (ROOT / "webui" / "settings.py").read_text(encoding="utf-8").split('"""')[1]
    documented = set(re.findall(r"^((?:TRAINYARD_[A-Z_]+)|DATABASE_URL|REDIS_URL|TZ) ", docstring, re.MULTILINE))
    given = {key for service in SERVICES.values() for key in environment(service)}
    assert documented - given == {"TRAINYARD_DEBUG"}, "debugging has no place in a deployment"
    assert len(documented) > 10


def test_secrets_have_no_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    for name in ("TRAINYARD_SECRET_KEY", "POSTGRES_PASSWORD"):
        assert set(re.findall(rf"\$\{{{name}(.{{2}})", text)) == {":?"}, name


def test_addresses_name_services_of_this_file() -> None:
    for name in OURS:
        for key in ("DATABASE_URL", "REDIS_URL"):
            host = re.search(r"(?:@|//)([a-z]+):\d+/", environment(SERVICES[name])[key])
            assert host is not None
            assert host[1] in SERVICES


@pytest.mark.parametrize("words", list(python_commands()), ids=" ".join)
def test_every_command_exists(words: list[str]) -> None:
    if words[0] == "-m":
        assert find_spec(words[1]) is not None
    elif words[0] == "-c":
        compile(words[1], "healthcheck", "exec")
    else:
        assert (ROOT / words[0]).exists()
        shown = subprocess.run(
            [sys.executable, *words[:2], "--help"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert shown.returncode == 0, shown.stderr
        assert all(word in shown.stdout for word in words[2:] if word.startswith("--")), shown.stdout


def test_the_worker_takes_its_options() -> None:
    words = arguments(SERVICES["worker"]["command"])
    shown = subprocess.run(
        [sys.executable, *words[1 : words.index("worker") + 1], "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert all(word in shown.stdout for word in words if word.startswith("--")), shown.stdout


def test_the_health_of_the_web_service_is_asked_where_it_is_told() -> None:
    from webui.urls import urlpatterns

    asked = re.search(r"http://127\.0\.0\.1:8000/(\w+)", " ".join(SERVICES["web"]["healthcheck"]["test"]))
    assert asked is not None
    assert asked[1] in {str(entry.pattern) for entry in urlpatterns}
    assert environment(SERVICES["web"])["TRAINYARD_ALLOWED_HOSTS"].startswith("127.0.0.1,")


def test_the_reconcilers_lock_is_the_one_that_its_health_looks_at() -> None:
    from jobs.reconciler import OnlyOne

    path = OnlyOne().path
    assert f"/data/{path.parent.name}/{path.name} " in SERVICES["reconciler"]["healthcheck"]["test"][1]


def copied() -> list[Path]:
    """What the image takes from the checkout."""
    lines = re.findall(r"^COPY (.+)$", DOCKERFILE, re.MULTILINE)
    return [ROOT / name for line in lines for name in line.split()[:-1]]


def test_the_image_copies_what_exists_and_all_that_the_site_needs() -> None:
    assert [path for path in copied() if not path.exists()] == []
    assert {ROOT / room for room in ("engine", "jobs", "webui", "static", "manage.py", "requirements.txt")} <= {
        *copied()
    }


def test_the_image_serves_as_the_demo_does() -> None:
    from webui.demo.processes import web_child

    served = web_child("0.0.0.0", 8000).argv[1:]
    command = re.search(r"^CMD \[(.+?)\]$", DOCKERFILE, re.MULTILINE | re.DOTALL)
    assert command is not None
    assert re.findall(r'"([^"]+)"', command[1]) == ["python", *served]
