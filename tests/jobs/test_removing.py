"""A dataset is taken out of the list, and what a run was trained with stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from jobs.assets import register_dataset
from jobs.datasets.finishing import team_folder
from jobs.datasets.removing import remove
from jobs.datasets.versions import current_version
from jobs.models import AuditEvent, Dataset, Run, Team
from tests.jobs.rows import queued_run

pytestmark = pytest.mark.django_db
ROW = '{"instruction": "a", "output": "b"}'


@pytest.fixture
def run(team: Team) -> Run:
    return queued_run()


@pytest.fixture
def upload(team: Team, data_dir: Path) -> Dataset:
    folder = team_folder(team)
    folder.mkdir(parents=True)
    (folder / "rows.jsonl").write_text(ROW)
    return Dataset.objects.create(team=team, name="Rows", path=str(folder / "rows.jsonl"), format="alpaca")


def test_an_upload_that_no_run_keeps_is_deleted_with_its_file(upload: Dataset, alice: User) -> None:
    current_version(upload)
    assert remove(upload, alice)
    assert not Path(upload.path).exists()
    assert not Dataset.with_removed.exists()
    event = AuditEvent.objects.get(action="dataset.remove")
    assert (event.user, event.detail["path"], event.detail["deleted"]) == (alice, upload.path, True)


def test_an_upload_that_a_run_keeps_stays_on_the_disk_and_on_the_runs_page(
    upload: Dataset, alice: User, run: Run
) -> None:
    version = current_version(upload)
    Run.objects.filter(pk=run.pk).update(dataset_version=version)
    assert not remove(upload, alice)
    assert Path(upload.path).exists()
    assert not Dataset.objects.exists()
    run.refresh_from_db()
    assert run.dataset_version == version
    assert run.dataset_version is not None
    assert run.dataset_version.dataset.name == "Rows"
    assert AuditEvent.objects.get(action="dataset.remove").detail["deleted"] is False


def test_a_registered_file_is_never_deleted(team: Team, data_dir: Path, alice: User) -> None:
    path = data_dir / "datasets" / "rows.jsonl"
    path.write_text(ROW)
    assert not remove(Dataset.objects.create(team=team, name="Rows", path=str(path)), alice)
    assert path.exists()
    assert not Dataset.with_removed.exists()


def test_registering_the_path_again_brings_it_back(upload: Dataset, team: Team, alice: User, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(dataset_version=current_version(upload))
    remove(upload, alice)
    back = register_dataset(team=team, user=alice, name="Again", path=upload.path, format="alpaca")
    assert (back.pk, back.removed, back.name) == (upload.pk, None, "Again")
    assert list(Dataset.objects.all()) == [back]
