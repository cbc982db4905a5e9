"""What another team has registered is theirs, however it is spelled; the rest is everybody's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs.assets import Unusable, register_dataset, register_weights
from jobs.models import Dataset, Team, Weights
from jobs.submit import Refused, preview, submit
from tests.jobs.rows import node, user_of

pytestmark = pytest.mark.django_db
DATASET = "datasets/three.json"
Codes = Callable[[Team | None], set[str]]


@pytest.fixture
def beta(team: Team) -> Team:
    return Team.objects.create(name="beta")


@pytest.fixture
def codes(spec: dict[str, Any]) -> Codes:
    """Codes of the errors that a check for a team finds."""
    node()
    return lambda team: {one.code for one in preview(spec, team=team)[0].problems if one.severity == "error"}


def test_what_nobody_has_registered_is_everybodys(codes: Codes, team: Team, beta: Team) -> None:
    assert codes(team) == codes(beta) == codes(None) == set()


def test_what_another_team_has_registered_is_refused(
    codes: Codes, team: Team, beta: Team, alice: User, spec: dict[str, Any]
) -> None:
    bob = user_of(beta, "bob")
    register_dataset(team=team, user=alice, name="three", path=DATASET, format="alpaca")
    register_weights(team=team, user=alice, name="small", path="models/small", model="smollm2-135m")
    assert codes(team) == set()
    assert codes(beta) == codes(None) == {"dataset.other_team", "weights.other_team"}
    with pytest.raises(Refused):
        submit(spec, team=beta, user=bob)
    with pytest.raises(Unusable, match=r"dataset\.other_team"):
        register_dataset(team=beta, user=bob, name="mine", path=DATASET, format="alpaca")
    with pytest.raises(Unusable, match=r"weights\.other_team"):
        register_weights(team=beta, user=bob, name="mine", path="models/small", model="smollm2-135m")


def test_nothing_of_it_is_read_nor_told(team: Team, beta: Team, spec: dict[str, Any], data_dir: Path) -> None:
    """Not even a broken row, whose finding would name it."""
    node()
    (data_dir / DATASET).write_text('[{"secret": 1}]')
    Dataset.objects.create(team=team, name="three", path=str(data_dir / DATASET), format="alpaca")
    own, other = ([one.field for one in preview(spec, team=each)[0].problems] for each in (team, beta))
    assert any("dataset" in field for field in own)
    assert [field for field in other if "dataset" in field] == ["train.dataset.path"]
    assert preview(spec, team=beta)[0].problems[-1].code == "dataset.other_team"


def test_two_teams_may_hold_the_same(codes: Codes, team: Team, beta: Team, data_dir: Path) -> None:
    for each in (team, beta):
        Dataset.objects.create(team=each, name="three", path=str(data_dir / DATASET), format="alpaca")
    assert codes(team) == codes(beta) == set()


@pytest.mark.parametrize("how", ["link", "detour", "below"])
def test_another_spelling_does_not_help(
    codes: Codes, team: Team, beta: Team, data_dir: Path, spec: dict[str, Any], how: str
) -> None:
    if how == "below":
        (data_dir / "models/small/data.json").write_bytes((data_dir / DATASET).read_bytes())
        Weights.objects.create(team=team, name="small", path=str(data_dir / "models/small"), model="smollm2-135m")
        spec["model_path"] = spec["train"]["dataset"]["path"] = "models/small/data.json"
    else:
        Dataset.objects.create(team=team, name="three", path=str(data_dir / DATASET), format="alpaca")
        (data_dir / "datasets/link.json").symlink_to("three.json")
        path = "datasets/link.json" if how == "link" else "datasets/../models/../datasets/three.json"
        spec["train"]["dataset"]["path"] = path
    assert "dataset.other_team" in codes(beta)
    assert "dataset.other_team" not in codes(team)


def test_registering_a_folder_does_not_get_at_what_others_hold_in_it(
    codes: Codes, team: Team, beta: Team, data_dir: Path, spec: dict[str, Any]
) -> None:
    data = data_dir / "models/small/data.json"
    data.write_bytes((data_dir / DATASET).read_bytes())
    Dataset.objects.create(team=team, name="three", path=str(data), format="alpaca")
    Weights.objects.create(team=beta, name="small", path=str(data_dir / "models/small"), model="smollm2-135m")
    spec["train"]["dataset"]["path"] = str(data)
    assert codes(beta) == {"dataset.other_team"}
    assert codes(team) == {"weights.other_team"}


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "", 3, None])
def test_a_path_that_is_none_is_the_checks_to_say(team: Team, spec: dict[str, Any], path: object) -> None:
    Dataset.objects.create(team=team, name="odd", path="/a", format="alpaca")
    spec["model_path"] = spec["train"]["dataset"]["path"] = path
    assert not preview(spec, team=None)[0].fits
