"""Fixtures of the tests of jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.catalog import load
from tests.model_folders import make_model

if TYPE_CHECKING:  # this file is read before Django is ready
    from django.contrib.auth.models import User

    from jobs.models import Team


@pytest.fixture
def team(db: None) -> Team:
    from jobs.models import Team

    return Team.objects.create(name="alpha")


@pytest.fixture
def alice(team: Team) -> User:
    """Works in the team."""
    from tests.jobs.rows import user_of

    return user_of(team, "alice")


@pytest.fixture
def spec(data_dir: Path, db: None) -> dict[str, Any]:
    """A request that this site accepts: tables loaded, a dataset and a model folder on disk."""
    from jobs.seed import load_tables

    load_tables(load())
    rows = [{"instruction": f"Say {word}.", "input": "", "output": word} for word in ("one", "two", "three")]
    (data_dir / "datasets" / "three.json").write_text(json.dumps(rows))
    make_model(data_dir / "models" / "small")
    return {
        "name": "first try",
        "model": "smollm2-135m",
        "model_path": "models/small",
        "framework": "native",
        "hardware": "cpu",
        "devices": 1,
        "train": {
            "stage": "sft",
            "strategy": "full",
            "dataset": {"path": "datasets/three.json", "format": "alpaca"},
            "seq_length": 64,
        },
    }
