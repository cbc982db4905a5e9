"""What the tests' settings read from the environment; importing this sets it, for this process and its children."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

FOLDER = Path(tempfile.mkdtemp(prefix="ty-"))  # short: paths of unix sockets are limited
(FOLDER / "static").mkdir()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
os.environ.update(
    {
        "TRAINYARD_DEBUG": "on",
        "TRAINYARD_DATA_DIR": str(FOLDER),
        "TRAINYARD_NODE": "test-node",
        "REDIS_URL": f"unix://{FOLDER}/redis.sock",
        "TRAINYARD_LOG_LEVEL": "WARNING",
        "HF_HUB_OFFLINE": "1",
    }
)
for name in (
    "ROOTS",
    "LANGUAGE",
    "HTTPS",
    "ALLOWED_HOSTS",
    "TRUSTED_ORIGINS",
    "TRUSTED_PROXIES",
    "METRICS_TOKEN",
    "UPLOADS",
    "UPLOAD_LIMIT_GB",
):
    os.environ.pop(f"TRAINYARD_{name}", None)
os.environ.setdefault("DATABASE_URL", f"sqlite:///{FOLDER}/rows.sqlite3")
