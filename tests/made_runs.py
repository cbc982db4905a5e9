"""Run folders for tests, with small scripts as stages: real processes, real files, no training."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.plan import Batch, Command, Layout, Plan, Stage
from engine.run_folder import RunFolder
from engine.runner import prepare
from engine.spec import DatasetChoice, JobSpec, TrainOptions

PROJECT_ROOT = Path(__file__).resolve().parents[1]
SPEC = JobSpec(
    name="a run of a test",
    model="smollm2-135m",
    model_path="/models/none",
    framework="native",
    hardware="cpu",
    devices=1,
    train=TrainOptions(
        stage="sft", strategy="full", dataset=DatasetChoice(path="/data/none.json", format="alpaca"), seq_length=64
    ),
)
PREAMBLE = """
import os, signal, subprocess, sys, time
from pathlib import Path
from engine.events import Emitter
run_dir = Path(os.environ["TRAINYARD_RUN_DIR"])
emitter = Emitter.from_environment()
def wait_for(name):
    while not (run_dir / name).exists():
        time.sleep(0.01)
"""
SUCCEED = "(run_dir / 'output' / 'model').write_text('weights')"


def script(code: str, **options: Any) -> Command:
    """A command that runs Python code; see PREAMBLE for the names it may use."""
    return Command(argv=("{python}", "-c", PREAMBLE + code), **options)


def stage(name: str, *codes: str, outputs: tuple[str, ...] = ()) -> Stage:
    return Stage(name=name, commands=tuple(script(code) for code in codes), outputs=outputs)


def plan_of(*stages: Stage) -> Plan:
    batch = Batch(micro_batch_size=1, global_batch_size=1, gradient_accumulation_steps=1, train_iters=1, epochs=None)
    layout = Layout(devices=1, data_parallel_size=1)
    return Plan(layout=layout, batch=batch, memory=None, eta=None, reasons=(), stages=stages)


def made_run(path: Path, *stages: Stage, spec: JobSpec = SPEC) -> RunFolder:
    folder = RunFolder(path)
    prepare(folder, spec, plan_of(*stages))
    return folder


def events(folder: RunFolder) -> list[dict[str, Any]]:
    """All whole events so far, in the order of the file."""
    if not folder.events.exists():
        return []
    return [json.loads(line) for line in folder.events.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def facts(folder: RunFolder, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """(stage, data) of the events of a kind."""
    return [(event["stage"], event["data"]) for event in events(folder) if event["kind"] == kind]


def iterations(folder: RunFolder) -> list[int]:
    return [data["iteration"] for _, data in facts(folder, "metric")]


def problem_of(folder: RunFolder) -> dict[str, Any]:
    """The one problem of a run."""
    [(_, data)] = facts(folder, "problem")
    problem: dict[str, Any] = data["problem"]
    return problem


def wait_until(condition: Callable[[], object], seconds: float = 20) -> None:
    """Poll; fail when the condition has not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)


def start_runner(folder: RunFolder, grace_seconds: float = 20) -> subprocess.Popen[bytes]:
    """The engine's runner as a process of its own, to be killed."""
    code = (
        "import signal, sys; from engine.run_folder import RunFolder; from engine.runner import run, stop_on_signals\n"
        "folder = RunFolder(sys.argv[1]); stop_on_signals(folder, (signal.SIGTERM,))\n"
        "run(folder, grace_seconds=float(sys.argv[2]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder.path), str(grace_seconds)], cwd=PROJECT_ROOT, env=dict(os.environ)
    )


def training_pid(folder: RunFolder, stage: str = "train") -> int:
    """Of the wrapper, which leads the session."""
    pid: int = json.loads((folder.stage(stage) / "process.json").read_text())["pid"]
    return pid


def lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"
