"""`make demo`, as real processes on a data folder of their own, with the tiny model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.servers import wait_until
from tests.site import Site
from tests.source import ROOT


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site("--model", "tiny")
    yield made
    made.stop()


def test_once_trains_prints_the_result_and_leaves(site: Site) -> None:
    site.start("--once")
    assert site.process is not None
    assert site.process.wait(240) == 0, site.output()
    losses = [event["data"]["lm_loss"] for event in site.events(1) if event["kind"] == "metric"]  # type: ignore[index]
    assert losses[-1] < losses[0] / 2
    assert "Succeeded" in site.output()
    assert "What is the capital of Italy?" in site.output()
    story = {path.name for path in (site.data_dir / "runs" / "1").iterdir()}
    assert story >= {"spec.json", "plan.json", "events.jsonl", "logs", "result.json", "output"}


def test_ctrl_c_ends_everything(site: Site) -> None:
    site.start("--no-job")
    # Redis, web, reconciler, worker and its two pool processes
    wait_until(lambda: len(site.processes()) >= 6, 60, "all processes")
    processes = site.processes()
    assert site.interrupt() == 0
    assert [process for process in processes if process.is_running()] == []


def test_a_second_start_at_once_says_where_the_first_one_is(site: Site) -> None:
    site.start("--no-job")
    command = [sys.executable, "manage.py", "demo"]
    second = subprocess.run(command, cwd=ROOT, env=site.environment(), capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert site.address in second.stderr


def test_trainings_are_stopped_by_a_command_while_the_site_goes_on(site: Site) -> None:
    site.start()
    wait_until(lambda: _iterations(site) >= 1, 120, "the first iteration")
    command = [sys.executable, "manage.py", "demo", "--stop-jobs"]
    done = subprocess.run(command, cwd=ROOT, env=site.environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Stopped" in done.stdout
    assert not site.has_ended()


def test_kill_9_leaves_only_the_training_which_the_next_start_follows_to_its_end(site: Site) -> None:
    site.start()
    wait_until(lambda: _iterations(site) >= 3, 120, "the first iterations")
    processes = site.processes()
    assert site.process is not None
    site.process.kill()
    site.process.wait()
    wait_until(lambda: not any(_lives(process) for process in processes), 20, "the end of all children")
    seen = _iterations(site)
    wait_until(lambda: _iterations(site) > seen, 60, "another iteration without the site")
    site.start("--once")
    assert site.process.wait(240) == 0, site.output()
    numbers = [event["seq"] for event in site.events(1)]
    assert numbers == list(range(1, len(numbers) + 1))
    starts = [event for event in site.events(1) if event["kind"] == "started" and event["stage"] == "train"]
    assert len(starts) == 1


def _iterations(site: Site) -> int:
    if not (site.data_dir / "runs" / "1" / "events.jsonl").exists():
        return 0
    return sum(event["kind"] == "metric" for event in site.events(1))


def _lives(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
