"""The demo's work after the site answers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from engine.runner import locks
from jobs.states import RunState
from tests.jobs.rows import run_in
from tests.servers import wait_until
from webui.demo import bootstrap, installing
from webui.demo.background import Background
from webui.demo.stopping import say_what_still_runs


@pytest.fixture
def background(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Background:
    """In an environment that lacks the engine; what pip does is up to the test."""
    monkeypatch.setattr(installing, "present", lambda: False)
    monkeypatch.setattr(installing, "running_in_venv", lambda: True)
    monkeypatch.setattr(bootstrap, "mark", lambda name: None)
    return Background("http://127.0.0.1:8000", model="tiny", again=False, once=True)


def _pip(monkeypatch: pytest.MonkeyPatch, code: str, *, matters: bool = True) -> None:
    monkeypatch.setattr(installing, "commands", lambda: iter([([sys.executable, "-c", code], matters)]))


def test_a_failed_installation_ends_a_demo_that_waits_and_is_told_on_the_pages(
    background: Background, monkeypatch: pytest.MonkeyPatch, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _pip(monkeypatch, "print('No matching distribution'); raise SystemExit(1)")
    wait_until(background)
    assert not background.succeeded
    assert (data_dir / "run" / "engine-failed").exists()
    assert not (data_dir / "run" / "engine-installing").exists()
    assert "No matching distribution" in capsys.readouterr().err


def test_the_banner_says_what_pip_is_at_while_it_works(
    background: Background, monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    code = "import time; print('Downloading torch-2.13.0-cp311-linux.whl (190 MB)', flush=True); time.sleep(60)"
    _pip(monkeypatch, code)
    banner = data_dir / "run" / "engine-installing"

    def said() -> bool:
        background()
        return banner.exists() and banner.read_text(encoding="utf-8") == "Downloading torch-2.13.0 (190 MB)"

    wait_until(said)
    background.close()
    assert background.current is not None
    assert not background.current.alive
    assert not banner.exists()


@pytest.mark.django_db(transaction=True)  # it closes its connections
@pytest.mark.parametrize(("lang", "words"), [("C", "is still running: "), ("zh_CN.UTF-8", "仍在进行：")])
def test_a_start_names_every_run_that_still_goes_on_and_no_other(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lang: str, words: str
) -> None:
    monkeypatch.setenv("LC_ALL", lang)
    lives, dead = (run_in(RunState.RUNNING) for _ in range(2))
    for run in (lives, dead):
        run.folder.create()
    held = locks.take(lives.folder.lock)
    assert held is not None
    try:
        say_what_still_runs("http://127.0.0.1:8000")
    finally:
        os.close(held)
    [line] = capsys.readouterr().out.splitlines()
    assert line.endswith(f"{words}http://127.0.0.1:8000/jobs/{lives.job_id}/")
    assert f" {lives.pk}" in line
