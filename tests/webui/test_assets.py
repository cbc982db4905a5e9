"""Datasets and weights: registered only when the engine can read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Dataset, Inspection, Team, Weights

AsUser = Callable[[User], Client]


def _dataset(team: Team, path: Path | str, format: str = "alpaca") -> dict[str, str]:
    return {
        "kind": "dataset",
        "dataset-name": "Greetings",
        "dataset-path": str(path),
        "dataset-team": str(team.pk),
        "dataset-format": format,
    }


def test_a_good_dataset_is_registered_with_its_rows(
    as_user: AsUser, alice: User, bob: User, charlie: User, team: Team, dataset: Path
) -> None:
    assert as_user(alice).post("/datasets/", _dataset(team, dataset)).status_code == 302
    entry = Dataset.objects.get()
    assert (entry.rows, entry.format, entry.created_by) == (20, "alpaca", alice)
    assert str(dataset) in as_user(bob).get("/datasets/").content.decode()
    assert str(dataset) not in as_user(charlie).get("/datasets/").content.decode()


def test_registering_again_renews_the_entry(as_user: AsUser, alice: User, team: Team, dataset: Path) -> None:
    for _time in range(2):
        as_user(alice).post("/datasets/", _dataset(team, dataset))
    assert Dataset.objects.count() == 1


def test_broken_rows_do_not_hinder_registering_and_an_empty_file_does(
    as_user: AsUser, alice: User, team: Team, data_dir: Path
) -> None:
    file = data_dir / "datasets" / "broken.jsonl"
    file.write_text('{"instruction": "a", "output": "b"}\n{"instruction": "a"}\n', encoding="utf-8")
    assert as_user(alice).post("/datasets/", _dataset(team, file)).status_code == 302
    entry = Dataset.objects.get()
    assert Inspection.objects.get().version.dataset == entry  # its report will name the row
    empty = data_dir / "datasets" / "empty.jsonl"
    empty.touch()
    response = as_user(alice).post("/datasets/", _dataset(team, empty))
    assert response.status_code == 422
    assert str(empty) in response.content.decode()


def test_the_format_may_be_left_to_what_it_looks_like(as_user: AsUser, alice: User, team: Team, dataset: Path) -> None:
    assert as_user(alice).post("/datasets/", _dataset(team, dataset, "")).status_code == 302
    assert Dataset.objects.get().format == ""
    assert Inspection.objects.get().asked.get("format") is None


@pytest.mark.parametrize("path", ["datasets", "datasets/*.json"])
def test_a_folder_and_a_glob_are_registered_with_all_their_files(
    as_user: AsUser, alice: User, team: Team, dataset: Path, data_dir: Path, path: str
) -> None:
    (dataset.parent / "more.json").write_bytes(dataset.read_bytes())
    assert as_user(alice).post("/datasets/", _dataset(team, data_dir / path)).status_code == 302
    entry = Dataset.objects.get()
    assert (entry.rows, entry.versions.get().files) == (40, 2)


def test_another_format_is_refused_on_its_field(as_user: AsUser, alice: User, team: Team, dataset: Path) -> None:
    response = as_user(alice).post("/datasets/", _dataset(team, dataset, "sharegpt"))
    assert 'id="id_dataset-format_error"' in response.content.decode()


def test_a_path_outside_of_the_roots_is_refused(as_user: AsUser, alice: User, team: Team, data_dir: Path) -> None:
    (data_dir / "datasets" / "link.json").symlink_to("/etc/hostname")
    for path in ("/etc/hostname", "../../../etc/hostname", data_dir / "datasets" / "link.json"):
        assert as_user(alice).post("/datasets/", _dataset(team, path)).status_code == 422
    assert not Dataset.objects.exists()


def test_nothing_is_registered_for_another_team(as_user: AsUser, alice: User, charlie: User, dataset: Path) -> None:
    foreign = Team.objects.get(name="Elsewhere")
    assert as_user(alice).post("/datasets/", _dataset(foreign, dataset)).status_code == 422
    assert not Dataset.objects.exists()


def test_weights_need_a_tokenizer(as_user: AsUser, alice: User, team: Team, tables: None, weights: Path) -> None:
    form = {
        "kind": "weights",
        "weights-name": "Sample",
        "weights-path": str(weights),
        "weights-team": str(team.pk),
        "weights-model": "smollm2-135m",
    }
    (weights / "tokenizer.json").rename(weights / "elsewhere.json")
    response = as_user(alice).post("/datasets/", form)
    assert (response.status_code, Weights.objects.exists()) == (422, False)
    (weights / "elsewhere.json").rename(weights / "tokenizer.json")
    assert as_user(alice).post("/datasets/", form).status_code == 302
    assert Weights.objects.get().model == "smollm2-135m"
