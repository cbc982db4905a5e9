"""The sample dataset, the sample model and the demo's request, as rows of the demo team."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from engine.run_folder import read_json
from engine.samples import STATION_MASTER, demo_spec
from jobs.models import Dataset, Job, Run, Team, Weights
from jobs.states import ENDED
from jobs.submit import submit
from webui.dataset_forms import default_asked
from webui.datasets.asking import ask_quietly
from webui.demo.setting_up import MEMBERS, TEAM

TINY = "tiny"
TINY_CODE = "import sys; from pathlib import Path; from engine.weights import tiny; tiny.make(Path(sys.argv[1]))"
MODEL_NAMES = {"smollm2-135m": "SmolLM2-135M-Instruct", "tiny-llama": "Tiny Llama, random weights"}


def team_and_user() -> tuple[Team, User]:
    return Team.objects.get(name=TEAM), User.objects.get(username=MEMBERS[0])


def register_dataset() -> Dataset:
    """Put the sample dataset where datasets are allowed, and into the team's list."""
    path = Path(settings.DATA_DIR) / "datasets" / STATION_MASTER.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != STATION_MASTER.read_bytes():
        shutil.copyfile(STATION_MASTER, path)
    rows = len(json.loads(path.read_text(encoding="utf-8")))
    team, user = team_and_user()
    values = {"name": "Station master (sample)", "format": "alpaca", "rows": rows, "created_by": user, "removed": None}
    dataset, _ = Dataset.with_removed.update_or_create(team=team, path=str(path), defaults=values)
    return dataset


def look_at(dataset: Dataset) -> None:
    """Have its report made, with the sample model's tokenizer: its page has something to show at once."""
    ask_quietly(dataset, default_asked(dataset), team_and_user()[1])


def weights_folder(choice: str) -> Path:
    """Where the chosen sample model (`sample` or `tiny`) lies."""
    name = "tiny-llama" if choice == TINY else "sample"
    return Path(settings.DATA_DIR) / "models" / name


def weights_command(choice: str) -> list[str]:
    """The command that makes it. It needs torch: never in this process."""
    folder = str(weights_folder(choice))
    if choice == TINY:
        return [sys.executable, "-c", TINY_CODE, folder]
    return [sys.executable, "-m", "engine.weights.sample", folder]


def register_weights(choice: str) -> Weights:
    folder = weights_folder(choice)
    described: dict[str, Any] = read_json(folder / "trainyard.json") or {"model": "tiny-llama", "random": True}
    team, user = team_and_user()
    values = {
        "name": MODEL_NAMES[described["model"]],
        "model": described["model"],
        "random": described["random"],
        "note": described.get("reason", ""),
        "created_by": user,
    }
    weights, _ = Weights.objects.update_or_create(team=team, path=str(folder), defaults=values)
    return weights


def latest_job(name: str) -> Job | None:
    return Job.objects.filter(team__name=TEAM, name=name).order_by("-id").first()


def job_to_follow(dataset: Dataset, weights: Weights, *, again: bool, unless_running: bool) -> tuple[Run, bool]:
    """The run of the demo's job, and whether it was submitted just now. Raises jobs.submit.Refused.

    A job that was submitted by an earlier start is not submitted again, unless `again`; with
    `unless_running`, only a run that has not ended counts as there.
    """
    asked = demo_spec(dataset.path, weights.path, weights.model)
    job = latest_job(asked["name"])
    run = None if job is None else job.last_run
    if run is not None and not again and (run.state not in ENDED or not unless_running):
        return run, False
    team, user = team_and_user()
    new = submit(asked, team=team, user=user).last_run
    assert new is not None
    return new, True
