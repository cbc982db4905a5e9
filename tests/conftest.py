"""Fixtures of all tests: settings from the environment, a real Redis-protocol server, a private data folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from tests.environment import FOLDER
from tests.servers import RedisServer

# For child processes: they find the tests' environment as it is, and read the site's own settings.
os.environ["DJANGO_SETTINGS_MODULE"] = "webui.settings"


@pytest.fixture(scope="session")
def _redis_process() -> Iterator[RedisServer]:
    server = RedisServer(FOLDER / "redis.sock", FOLDER / "redis")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def redis_server(_redis_process: RedisServer) -> RedisServer:
    """A running server at `settings.REDIS_URL`, emptied; `kill()`, `restart()` and `hang()` are its test's to call."""
    if not _redis_process.alive:
        _redis_process.start()
    _redis_process.go_on()
    _redis_process.flush()
    return _redis_process


@pytest.fixture
def data_dir(tmp_path: Path, settings: LazySettings) -> Path:
    """A data folder of the test's own, with datasets and models as the allowed roots."""
    for name in ("runs", "datasets", "models", "run"):
        (tmp_path / name).mkdir()
    settings.DATA_DIR = tmp_path
    settings.RUNS_DIR = tmp_path / "runs"
    settings.ROOTS = (tmp_path / "datasets", tmp_path / "models")
    settings.UPLOADS_DIR = tmp_path / "datasets" / "uploads"
    return tmp_path
