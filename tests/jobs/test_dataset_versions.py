"""Versions of a dataset: made when the data has changed, kept by the runs that read it."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs.datasets import versions
from jobs.datasets.versions import current_version, has_changed, latest
from jobs.foreign import is_foreign_data
from jobs.models import Dataset, DatasetVersion, Team
from jobs.submit import submit

ROWS = '[{"instruction": "a", "output": "b"}]'


@pytest.fixture
def file(data_dir: Path) -> Path:
    file = data_dir / "datasets" / "rows.json"
    file.write_text(ROWS)
    return file


@pytest.fixture
def dataset(team: Team, file: Path) -> Dataset:
    return Dataset.objects.create(team=team, name="Rows", path=str(file), format="alpaca")


def version_of(dataset: Dataset) -> DatasetVersion:
    version = current_version(dataset)
    assert version is not None
    return version


def test_the_first_look_makes_the_first_version(dataset: Dataset) -> None:
    version = version_of(dataset)
    assert (version.number, version.size, version.files) == (1, len(ROWS), 1)
    assert version.digest == hashlib.sha256(ROWS.encode()).hexdigest()
    assert version_of(dataset) == version


def test_other_content_is_a_new_version(dataset: Dataset, file: Path) -> None:
    first = version_of(dataset)
    assert not has_changed(first, dataset)
    file.write_text(ROWS.replace("b", "c"))
    assert has_changed(first, dataset)
    assert version_of(dataset).number == 2


def test_the_same_size_and_time_with_another_file_is_noticed(dataset: Dataset, file: Path) -> None:
    first, facts = version_of(dataset), file.stat()
    other = file.with_name("other.json")
    other.write_text(ROWS.replace("b", "c"))
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.replace(file)
    assert has_changed(first, dataset)


def test_a_file_that_was_only_touched_is_no_new_version(dataset: Dataset, file: Path) -> None:
    first = version_of(dataset)
    os.utime(file, (1, 1))
    assert not has_changed(first, dataset)
    assert version_of(dataset) == first


def test_large_data_is_not_read_while_a_page_waits(
    dataset: Dataset, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "READ_AT_ONCE", 10)
    assert version_of(dataset).digest == ""
    os.utime(file, (1, 1))
    assert version_of(dataset).number == 2  # nobody knows that it is the same


def test_a_folder_has_versions_too(dataset: Dataset, file: Path) -> None:
    dataset.path = str(file.parent)
    dataset.save()
    first = version_of(dataset)
    (file.parent / "more.jsonl").write_text('{"instruction": "c", "output": "d"}\n')
    second = version_of(dataset)
    assert (first.files, second.files, second.number) == (1, 2, 2)
    (file.parent / "more.jsonl").unlink()
    assert version_of(dataset).digest == first.digest


def test_what_is_gone_has_changed_and_is_no_version(dataset: Dataset, file: Path) -> None:
    first = version_of(dataset)
    file.unlink()
    assert current_version(dataset) is None
    assert has_changed(first, dataset)
    assert latest(dataset) == first


def test_a_link_out_of_the_roots_is_no_version(dataset: Dataset, file: Path) -> None:
    version_of(dataset)
    file.unlink()
    file.symlink_to("/etc/hostname")
    assert current_version(dataset) is None


def test_a_run_keeps_the_version_that_it_reads(spec: dict[str, Any], team: Team, alice: User, data_dir: Path) -> None:
    path = data_dir / "datasets" / "three.json"
    dataset = Dataset.objects.create(team=team, name="Three", path=str(path), format="alpaca")
    run = submit(spec, team=team, user=alice).last_run
    assert run is not None
    assert run.dataset_version == version_of(dataset)
    path.write_text(json.dumps([{"instruction": "a", "output": "b"}]))
    later = submit(spec, team=team, user=alice).last_run
    run.refresh_from_db()
    assert later is not None
    assert later.dataset_version is not None
    assert run.dataset_version is not None
    assert (run.dataset_version.number, later.dataset_version.number) == (1, 2)


def test_a_run_on_data_that_nobody_has_registered_has_no_version(spec: dict[str, Any], team: Team, alice: User) -> None:
    run = submit(spec, team=team, user=alice).last_run
    assert run is not None
    assert run.dataset_version is None


@pytest.mark.parametrize("path", ["datasets", "datasets/*.json", "datasets/**/*.json"])
def test_a_folder_or_a_glob_does_not_reach_what_another_team_has_registered(
    dataset: Dataset, team: Team, data_dir: Path, path: str
) -> None:
    other = Team.objects.create(name="beta")
    assert is_foreign_data(str(data_dir / path), other)
    assert not is_foreign_data(str(data_dir / path), team)


def test_uploads_are_their_teams_before_they_are_registered(team: Team, data_dir: Path) -> None:
    other = Team.objects.create(name="beta")
    for folder in (str(team.pk), ".incoming"):
        (data_dir / "datasets" / "uploads" / folder).mkdir(parents=True)
        (data_dir / "datasets" / "uploads" / folder / "rows.json").write_text(ROWS)
    own = str(data_dir / "datasets" / "uploads" / str(team.pk) / "rows.json")
    unfinished = str(data_dir / "datasets" / "uploads" / ".incoming" / "rows.json")
    assert (is_foreign_data(own, team), is_foreign_data(own, other)) == (False, True)
    assert (is_foreign_data(unfinished, team), is_foreign_data(unfinished, other)) == (True, True)
    assert is_foreign_data(str(data_dir / "datasets/uploads/*/rows.json"), other)
