"""The whole way with a real Celery worker, which may be killed at any time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from django.conf import settings
from django.db import connection

from engine.runner import is_alive
from jobs import reconciler
from jobs.models import Node, Run
from jobs.reconciler import reconcile
from jobs.states import RunState
from tests.jobs.rows import queued_run
from tests.made_runs import PROJECT_ROOT, SUCCEED, facts, plan_of, stage
from tests.servers import RedisServer, wait_until
from webui.demo.child import die_with

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
TRAINING = """
for iteration in range(1, 4):
    emitter.emit("metric", iteration=iteration, lm_loss=3.0 / iteration)
    print("iteration", iteration, flush=True)
wait_for("go")
"""
TWO_STAGES = plan_of(
    stage("preprocess", "(run_dir / 'data' / 'tokens').write_text('1 2 3')", outputs=("data/tokens",)),
    stage("train", TRAINING + SUCCEED, outputs=("output/model",)),
)
StartWorker = Callable[[], psutil.Process]


def database_url() -> str:
    """Of the test's own database, for other processes."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    host = str(values["HOST"]).replace("/", "%2F")
    return f"postgres://{values['USER']}:{values['PASSWORD']}@{host}:{values['PORT']}/{values['NAME']}"


@pytest.fixture
def start_worker(data_dir: Path, tmp_path: Path) -> Iterator[StartWorker]:
    """Starts a worker and waits for its node's report; whatever is left is killed at the end."""
    started: list[psutil.Process] = []

    def start() -> psutil.Process:
        Node.objects.update(last_seen="2000-01-01T00:00:00Z")
        env = os.environ | {"DATABASE_URL": database_url(), "TRAINYARD_DATA_DIR": str(data_dir)}
        options = ["--concurrency", "1", "--without-gossip", "--without-mingle", "-n", f"{len(started)}@%h"]
        command = [sys.executable, "-m", "celery", "-A", "jobs.celery", "worker", *options]
        with (tmp_path / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=PROJECT_ROOT, env=env, stdout=log, stderr=log, preexec_fn=die_with(os.getpid())
            )
        started.append(psutil.Process(process.pid))
        wait_until(has_reported, 60, f"the node's report ({tmp_path / 'worker.log'})")
        return started[-1]

    yield start
    for process in started:
        if process.is_running():
            process.kill()
            process.wait()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "RESEND_AFTER", timedelta(seconds=1))


def reaches(run: Run, state: RunState) -> bool:
    """One look of the reconciler, and whether the run is there."""
    reconcile()
    run.refresh_from_db()
    assert not run.ended or run.state == state, run.state
    return run.state == state


def has_reported() -> bool:
    return Node.objects.filter(name=settings.NODE, last_seen__year__gt=2000).exists()


def is_training(run: Run) -> bool:
    return len(facts(run.folder, "metric")) == 3


def test_a_run_goes_from_the_queue_to_its_end(start_worker: StartWorker) -> None:
    start_worker()
    run = queued_run(TWO_STAGES)  # the commit wakes the worker, which places and starts it
    wait_until(lambda: is_training(run), 30, "the training")
    assert Run.objects.get(pk=run.pk).state == RunState.RUNNING
    (run.folder.path / "go").touch()
    wait_until(lambda: reaches(run, RunState.SUCCEEDED), 30, "success")
    assert run.metrics["iteration"] == 3
    assert [row.state for row in run.stages.all()] == ["succeeded", "succeeded"]
    assert run.leases.count() == 0


def test_a_training_outlives_its_killed_worker_and_is_recorded(start_worker: StartWorker) -> None:
    worker = start_worker()
    run = queued_run(TWO_STAGES)
    wait_until(lambda: is_training(run), 30, "the training")
    pool = worker.children()
    assert pool
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    wait_until(lambda: not any(child.is_running() for child in pool), what="the end of the pool")
    assert is_alive(run.folder)
    (run.folder.path / "go").touch()
    wait_until(lambda: reaches(run, RunState.SUCCEEDED), 30, "success")
    assert [name for name, _ in facts(run.folder, "started")] == ["", "preprocess", "train"]


def test_a_start_that_redis_has_lost_is_sent_again(start_worker: StartWorker, redis_server: RedisServer) -> None:
    start_worker()
    redis_server.kill()
    run = queued_run(TWO_STAGES)  # nobody can be told
    wait_until(lambda: reaches(run, RunState.ASSIGNED), what="the assignment")  # by us, or a late look of the worker
    redis_server.restart(lose_data=True)
    wait_until(lambda: reaches(run, RunState.RUNNING), 60, "the start")
    wait_until(lambda: is_training(run), 30, "the training")
    (run.folder.path / "go").touch()
    wait_until(lambda: reaches(run, RunState.SUCCEEDED), 30, "success")


def test_the_next_worker_takes_over_what_was_left_without_a_supervisor(start_worker: StartWorker) -> None:
    worker = start_worker()
    run = queued_run(TWO_STAGES)
    wait_until(lambda: is_training(run), 30, "the training")
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [])[-2:] == ["jobs.supervisor", str(run.folder.path)]:
            process.kill()
    wait_until(lambda: not is_alive(run.folder), what="the supervisor's death")
    start_worker()
    wait_until(lambda: reaches(run, RunState.RUNNING) and is_alive(run.folder), 30, "the takeover")
    (run.folder.path / "go").touch()
    wait_until(lambda: reaches(run, RunState.SUCCEEDED), 30, "success")
    assert [name for name, _ in facts(run.folder, "started")] == ["", "preprocess", "train"]
