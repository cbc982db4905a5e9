"""Files are opened inside the allowed folders only, also when they were exchanged after the check."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from engine.failures import Failure
from engine.run_folder import RunFolder
from engine.runner import prepare, run
from engine.samples import STATION_MASTER
from engine.stage_file import StageFile
from engine.weights.load import load_model, load_tokenizer
from tests.engine import native
from tests.made_runs import SPEC, made_run, plan_of, stage


@pytest.fixture
def yard(tmp_path: Path, tiny_model: Path) -> Path:
    """A folder with a dataset and a model; everything else is outside."""
    folder = tmp_path / "yard"
    folder.mkdir()
    shutil.copy(STATION_MASTER, folder / "rows.json")
    shutil.copytree(tiny_model, folder / "model")
    return folder


def preprocess(yard: Path, run_dir: Path) -> StageFile:
    from engine.preprocess.__main__ import main

    dataset = {"path": str(yard / "rows.json"), "format": "alpaca"}
    file = native.stage_file(run_dir, "preprocess", yard / "model", dataset=dataset)
    file = file.model_copy(update={"roots": (str(yard),)})
    main(file, native.emitter(file))
    return file


def code_of(failure: pytest.ExceptionInfo[Failure]) -> str:
    return failure.value.problem.code


def test_inside_the_roots_nothing_is_refused(yard: Path, tmp_path: Path) -> None:
    assert (preprocess(yard, tmp_path / "run").folder.data / "dataset_packed_input_ids_document.idx").exists()
    load_model(yard / "model", (str(yard),))


def test_a_dataset_exchanged_for_a_link_is_not_opened(yard: Path, tmp_path: Path) -> None:
    (yard / "rows.json").unlink()
    (yard / "rows.json").symlink_to(STATION_MASTER)
    with pytest.raises(Failure) as failure:
        preprocess(yard, tmp_path / "run")
    assert code_of(failure) == "path.outside"
    assert failure.value.problem.fault == "user"


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json", "extra"])
def test_a_model_whose_file_leads_outside_is_not_loaded(yard: Path, tmp_path: Path, name: str) -> None:
    if (yard / "model" / name).exists():
        (yard / "model" / name).rename(tmp_path / name)
    (yard / "model" / name).symlink_to(tmp_path / name)
    for load in (load_model, load_tokenizer):
        with pytest.raises(Failure) as failure:
            load(yard / "model", (str(yard),))
        assert code_of(failure) == "path.outside"


def test_a_model_whose_folder_leads_outside_is_not_loaded(yard: Path, tiny_model: Path) -> None:
    shutil.rmtree(yard / "model")
    (yard / "model").symlink_to(tiny_model)
    with pytest.raises(Failure) as failure:
        load_model(yard / "model", (str(yard),))
    assert code_of(failure) == "path.outside"
    load_model(yard / "model")


def test_an_index_cannot_name_a_file_elsewhere(yard: Path) -> None:
    (yard / "model" / "model.safetensors").unlink()
    index = {"metadata": {}, "weight_map": {"lm_head.weight": "../../etc/passwd"}}
    (yard / "model" / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(Failure) as failure:
        load_model(yard / "model")
    assert code_of(failure) == "model_path.shard_elsewhere"


@pytest.mark.parametrize("roots", [None, ("/data", "/models")])
def test_a_stage_is_told_the_roots_of_its_run(tmp_path: Path, roots: tuple[str, ...] | None) -> None:
    folder = RunFolder(tmp_path / "1")
    prepare(folder, SPEC, plan_of(stage("train", "pass")), roots)
    assert run(folder).state == "succeeded"
    assert StageFile.read(folder.stage("train") / "stage.json").roots == roots


def test_a_folder_of_an_earlier_release_has_no_roots(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "1", stage("train", "pass"))
    folder.roots.unlink()
    assert run(folder).state == "succeeded"
