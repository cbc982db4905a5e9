"""Starts a program over the stand-in, in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.npu_stub.libraries import missing_tools
from tests.source import ROOT

WHEEL = ROOT / ".venv" / "torch-npu"
"""Where `webui/demo/bootstrap.py` puts it."""
SECONDS = 300


def reason_to_skip() -> str | None:
    """Why the stand-in cannot be had here; None where it can."""
    if missing := missing_tools():
        return f"the stand-in for CANN is compiled, and there is no {' and no '.join(missing)}"
    if not (WHEEL / "torch_npu").is_dir():
        return f"torch_npu is not in {WHEEL.relative_to(ROOT)}; `make test` puts it there where its index has one"
    return None


def environment(libraries: Path | None, **more: str) -> dict[str, str]:
    """torch_npu in sight; CANN too, if `libraries` has been made."""
    own = {
        "PYTHONPATH": f"{WHEEL}{os.pathsep}{ROOT}",
        "LD_LIBRARY_PATH": "" if libraries is None else str(libraries),
        "TASK_QUEUE_ENABLE": "0",  # with it, operators that the stand-in lacks fail late or not at all
        "OMP_NUM_THREADS": "1",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0" if libraries is None else "1",
    }
    unwanted = ("ASCEND_", "HCCL_", "PYTORCH_NPU")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return inherited | own | more


def run(program: str, libraries: Path | None, *, processes: int = 1, **more: str) -> Any:
    """What a program of `programs/` says: its last line, in JSON."""
    return json.loads(output(program, libraries, processes=processes, **more).strip().splitlines()[-1])


def output(program: str, libraries: Path | None, *, processes: int = 1, **more: str) -> str:
    """All that a program prints. Fails with it when the program fails."""
    module = ["-m", f"tests.npu_stub.programs.{program}"]
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    done = subprocess.run(
        [sys.executable, *(launcher if processes > 1 else []), *module],
        env=environment(libraries, **more),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{program}:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    return done.stdout
