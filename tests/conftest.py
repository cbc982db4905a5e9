"""Fixtures of all tests: settings from the environment, a real Redis-protocol server, a private data folder."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_folder = Path(tempfile.mkdtemp(prefix="ty-"))  # short: paths of unix sockets are limited
(_folder / "static").mkdir()
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ.update(
    {
        "TRAINYARD_DEBUG": "on",
        "TRAINYARD_DATA_DIR": str(_folder),
        "TRAINYARD_NODE": "test-node",
        "REDIS_URL": f"unix://{_folder}/redis.sock",
        "TRAINYARD_LOG_LEVEL": "WARNING",
        "HF_HUB_OFFLINE": "1",
    }
)
for name in ("TRAINYARD_ROOTS", "TRAINYARD_LANGUAGE", "TRAINYARD_HTTPS", "TRAINYARD_ALLOWED_HOSTS"):
    os.environ.pop(name, None)
os.environ.setdefault("DATABASE_URL", f"sqlite:///{_folder}/rows.sqlite3")

os.environ["DJANGO_SETTINGS_MODULE"] = "webui.settings"

# Settings read the environment when they are first looked at: now, so that pytest-django finds them ready.
from django.conf import LazySettings  # noqa: E402
from django.conf import settings as _settings  # noqa: E402

if _settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: threads and child processes of a test see the same rows, and locks are the real ones.
    _settings.DATABASES["default"]["TEST"] = {"NAME": str(_folder / "test.sqlite3")}
from tests.servers import RedisServer  # noqa: E402


@pytest.fixture(scope="session")
def _redis_process() -> Iterator[RedisServer]:
    server = RedisServer(_folder / "redis.sock", _folder / "redis")
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
    return tmp_path
