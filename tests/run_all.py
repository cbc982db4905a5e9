"""`make test`: style, types, the web side on PostgreSQL, then every test on SQLite. Its last line is pytest's own.

python tests/run_all.py [pytest arguments of the last leg]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import browsers, postgres  # noqa: E402

PYTEST = [sys.executable, "-m", "pytest", "-q"]
LEGS = {
    "style": [sys.executable, "-m", "ruff", "check", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "types": [sys.executable, "-m", "mypy"],
    "web side on PostgreSQL": [sys.executable, "tests/postgres.py", *PYTEST, "tests/jobs", "tests/webui"],
}


def main(arguments: list[str]) -> int:
    try:
        print(f"Browser: {browsers.install()}    PostgreSQL: {postgres.find_binaries() or postgres.install_binaries()}")
    except (browsers.NoBrowser, postgres.NoPostgres) as error:
        print(error, file=sys.stderr)
        return 1
    failed = [name for name, command in LEGS.items() if not passes(name, command)]
    print(f"\n== Before the last leg: {'all legs passed' if not failed else 'FAILED: ' + ', '.join(failed)}")
    passed = passes("every test on SQLite", [*PYTEST, *arguments])
    return 0 if passed and not failed else 1


def passes(name: str, command: list[str]) -> bool:
    print(f"\n== {name}", flush=True)
    # Style and types look at settings, which want to know that this is no production.
    environment = os.environ | {"TRAINYARD_DEBUG": "on"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
