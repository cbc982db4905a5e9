"""Alice and Bob work in one team, Charlie in another. They have the sample tables, a node, data and weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
import pytest

django.setup()  # this file may be read before pytest-django has done so

from django.contrib.auth.models import User  # noqa: E402
from django.core.cache import cache  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from engine.catalog import load  # noqa: E402
from jobs.models import Job, Membership, Node, Team  # noqa: E402
from jobs.seed import load_tables  # noqa: E402
from jobs.submit import submit  # noqa: E402
from tests.model_folders import make_model  # noqa: E402
from webui.forms import to_data  # noqa: E402

MODEL = "smollm2-135m"


@pytest.fixture(autouse=True)
def _quiet_site(db: None, data_dir: Path, redis_server: object) -> None:
    """Every test of pages has rows, folders and a Redis of its own."""
    cache.clear()


@pytest.fixture
def team() -> Team:
    return Team.objects.create(name="Yard")


def _person(name: str, team: Team) -> User:
    user = User.objects.create_user(name)
    Membership.objects.create(team=team, user=user)
    return user


@pytest.fixture
def alice(team: Team) -> User:
    return _person("alice", team)


@pytest.fixture
def bob(team: Team) -> User:
    return _person("bob", team)


@pytest.fixture
def charlie() -> User:
    return _person("charlie", Team.objects.create(name="Elsewhere"))


@pytest.fixture
def as_user() -> Callable[[User], Client]:
    def log_in(user: User) -> Client:
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return log_in


@pytest.fixture
def tables() -> None:
    load_tables(load())
    Node.objects.create(name="here", hardware="cpu", devices=2, frameworks={"native": "1"}, last_seen=timezone.now())


@pytest.fixture
def dataset(data_dir: Path) -> Path:
    file = data_dir / "datasets" / "greetings.json"
    rows = [{"instruction": f"Greet {number}", "input": "", "output": f"Hello {number}"} for number in range(20)]
    file.write_text(json.dumps(rows), encoding="utf-8")
    return file


@pytest.fixture
def weights(data_dir: Path) -> Path:
    """A folder that looks like the sample model; the weights in it are never read here."""
    row = load().models[MODEL]
    folder = data_dir / "models" / MODEL
    shape = {
        name: getattr(row, name)
        for name in (
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "vocab_size",
            "max_position_embeddings",
        )
    }
    return make_model(folder, architectures=[row.architecture], **shape)


@pytest.fixture
def inputs(tables: None, dataset: Path, weights: Path) -> dict[str, str]:
    """A form that can start."""
    return {
        "name": "first try",
        "model": MODEL,
        "model_path": str(weights),
        "framework": "native",
        "hardware": "cpu",
        "devices": "1",
        "train.dataset.path": str(dataset),
        "train.dataset.format": "alpaca",
        "train.stage": "sft",
        "train.strategy": "full",
        "train.seq_length": "128",
        "train.epochs": "1",
        "train.learning_rate": "1e-4",
        "train.resume.auto_recovery": "on",
    }


@pytest.fixture
def make_job(inputs: dict[str, str], team: Team) -> Callable[..., Job]:
    def make(owner: User, **changes: Any) -> Job:
        return submit(to_data({**inputs, **changes}), team=changes.pop("team", team), user=owner)

    return make
