"""What happens before anything is installed, and what `manage.py demo` puts into the environment."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.source import ROOT
from webui.demo import bootstrap, environment, installing
from webui.demo.child import FIRST_WAIT, Child
from webui.demo.processes import free_port

SCRIPT = ROOT / "webui" / "demo" / "python.sh"


def _find_python(**env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", SCRIPT], env=env, capture_output=True, text=True, check=False)


def _fake(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH with nothing but `cat`."""
    (tmp_path / "cat").symlink_to("/bin/cat")
    return tmp_path


def test_a_python_of_the_right_age_is_found(tools: Path) -> None:
    _fake(tools, "python3.11", "exit 1")
    (tools / "python3").symlink_to(sys.executable)
    assert _find_python(PATH=str(tools)).stdout.strip() == str(tools / "python3")


def test_without_a_python_it_says_in_two_languages_what_to_install(tools: Path) -> None:
    _fake(tools, "python3", "exit 1")
    done = _find_python(PATH=str(tools))
    assert done.returncode == 1
    assert "Trainyard needs Python 3.11 or later" in done.stderr
    assert "需要 Python 3.11" in done.stderr
    assert all(word in done.stderr for word in ("Debian", "Ubuntu", "openEuler"))


def test_a_python_without_venv_is_named_with_the_package_that_lacks(tools: Path) -> None:
    body = f'case "$2" in *ensurepip*) exit 1 ;; *) exec {sys.executable} "$@" ;; esac'
    _fake(tools, "python3", body)
    done = _find_python(PATH=str(tools))
    assert done.returncode == 1
    assert f"python{sys.version_info[0]}.{sys.version_info[1]}-venv" in done.stderr


def test_the_stamp_changes_with_an_included_requirements_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "all.txt").write_text("-r more.txt  # the rest\nhere==1\n")
    (tmp_path / "more.txt").write_text("there==1\n")
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setitem(bootstrap.SETS, "web", ("all.txt",))
    before = bootstrap.fingerprint("web")
    assert bootstrap.fingerprint("web") == before
    (tmp_path / "more.txt").write_text("there==2\n")
    assert bootstrap.fingerprint("web") != before


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `.venv` would be; making or installing anything fails the test."""
    venv = tmp_path / "checkout" / ".venv"
    venv.parent.mkdir()
    monkeypatch.setattr(bootstrap, "VENV", venv)
    monkeypatch.setattr(bootstrap, "PYTHON", venv / "bin" / "python")
    for name in ("make_venv", "install", "mark"):
        monkeypatch.setattr(bootstrap, name, lambda *_, name=name: pytest.fail(name))
    return venv


def test_the_environment_of_another_checkout_is_left_alone(
    venv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    venv.symlink_to(tmp_path / "other")
    assert bootstrap.main(["web"]) == 1
    told = capsys.readouterr().err
    assert f"{venv} belongs to {tmp_path / 'other'}" in told
    assert "只删链接" in told
    assert list((tmp_path / "other").iterdir()) == []


def test_a_python_that_belongs_elsewhere_is_not_used(
    venv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (venv / "bin").mkdir(parents=True)
    _fake(venv / "bin", "python", f"echo {tmp_path / 'other'}")
    assert bootstrap.main(["web"]) == 1
    assert f"belongs to {tmp_path / 'other'}" in capsys.readouterr().err


@pytest.mark.parametrize("there", [True, False])
def test_our_own_environment_is_used(venv: Path, there: bool) -> None:
    if there:
        (venv / "bin").mkdir(parents=True)
        _fake(venv / "bin", "python", f"echo {venv}")
    assert bootstrap.foreign_prefix() is None


@pytest.mark.parametrize(
    ("machine", "chosen", "own", "index"),
    [
        ("x86_64", None, "", bootstrap.TORCH_INDEX),
        ("aarch64", None, "", None),
        ("x86_64", "https://mirror.example/cpu", "", "https://mirror.example/cpu"),
        ("x86_64", "", "", None),
        ("x86_64", None, "https://mirror.example/simple", None),
    ],
)
def test_torch_comes_from_the_cpu_index_unless_pip_has_an_index_of_its_own(
    monkeypatch: pytest.MonkeyPatch, machine: str, chosen: str | None, own: str, index: str | None
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "TRAINYARD_TORCH_INDEX"):
        monkeypatch.delenv(name, raising=False)
    if own:
        monkeypatch.setenv("PIP_INDEX_URL", own)
    if chosen is not None:
        monkeypatch.setenv("TRAINYARD_TORCH_INDEX", chosen)
    assert bootstrap.torch_index() == index


def test_a_secret_is_made_once_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    secret = environment.kept_secret(tmp_path / "secret_key")
    assert len(secret) > 40
    assert environment.kept_secret(tmp_path / "secret_key") == secret
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_a_socket_path_that_is_too_long_moves_to_a_short_private_folder(tmp_path: Path) -> None:
    assert environment.redis_socket(tmp_path) == tmp_path / "redis.sock"
    deep = tmp_path / ("deep" * 30)
    path = environment.redis_socket(deep)
    assert len(os.fsencode(path)) <= environment.SOCKET_LIMIT
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert environment.redis_socket(deep) == path
    path.parent.rmdir()


def test_a_taken_port_is_passed_over() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = free_port("127.0.0.1", port)
        assert found is not None
        assert found > port


def test_a_child_that_dies_again_and_again_is_started_after_growing_pauses(tmp_path: Path) -> None:
    child = Child("short", ["/bin/false"], tmp_path / "log")
    pauses = []
    for _ in range(4):
        child.start()
        assert child.process is not None
        child.process.wait()
        now = time.monotonic()
        assert child.keep(now)
        assert child.restart_at is not None
        pauses.append(round(child.restart_at - now, 3))
        assert not child.keep(now)
        assert not child.alive
    assert pauses == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT, 8 * FIRST_WAIT]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Downloading torch-2.13.0-cp311-cp311-linux_x86_64.whl (190.1 MB)", "Downloading torch-2.13.0 (190.1 MB)"),
        ("Collecting numpy==2.4.6 (from -r more.txt (line 3))", "Collecting numpy==2.4.6"),
        ("WARNING: something", ""),
    ],
)
def test_what_pip_does_is_told_in_a_short_line(line: str, shown: str) -> None:
    assert installing._human(line) == shown


def test_megatron_core_comes_without_its_training_stack() -> None:
    first, alone = bootstrap.commands("tests")
    assert "--no-deps" not in first
    assert alone[-1].startswith("megatron-core==")
    assert "--no-deps" in alone
    assert all(len(bootstrap.commands(name)) == 1 for name in ("web", "engine"))
