"""The demo's work after the site answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.servers import wait_until
from webui.demo import bootstrap, installing
from webui.demo.background import Background


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
