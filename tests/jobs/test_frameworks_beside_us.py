"""Requests for frameworks that are installed beside us, from the form's check to the recorded end, with stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from engine.catalog import load
from jobs.dispatcher import dispatch
from jobs.models import Run, Team
from jobs.recorder import record
from jobs.start import start
from jobs.states import RunState
from jobs.submit import submit
from tests.engine import stand_in_llama_factory
from tests.engine.mindspeed import standin
from tests.jobs.rows import node
from tests.made_runs import iterations
from tests.model_folders import make_model
from tests.servers import wait_until

pytestmark = pytest.mark.django_db
MODEL = "llama3.2-1b"
SECONDS = 60


def ended(asked: dict[str, Any], team: Team, user: User) -> Run:
    """The run of a request that was accepted, placed and started by its supervisor."""
    run = submit(asked, team=team, user=user).runs.get()
    assert dispatch() == [run.pk]
    run.refresh_from_db()
    assert run.token is not None
    assert start(run.pk, run.token)
    wait_until(run.folder.result.exists, SECONDS, "the result")
    run.refresh_from_db()
    record(run)
    return run


@pytest.fixture
def with_llama_factory(spec: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A request for it, on a CPU."""
    python = stand_in_llama_factory.make(tmp_path)
    monkeypatch.setenv("TRAINYARD_LLAMA_FACTORY_PYTHON", str(python))
    node(settings.NODE, frameworks={"llama-factory": "0.9.5"})
    train = {**spec["train"], "train_iters": 4, "save_interval": 2}
    return {**spec, "framework": "llama-factory", "model": "tiny-llama", "train": train}


@pytest.fixture
def with_mindspeed_llm(
    spec: dict[str, Any], data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """A request for it, on a node that says that it has cards."""
    monkeypatch.setenv("TRAINYARD_MINDSPEED_LLM_HOME", str(standin.make(tmp_path / "checkout")))
    monkeypatch.setenv("TRAINYARD_MINDSPEED_LLM_PYTHON", str(standin.make_python(tmp_path / "python")))
    node(settings.NODE, hardware="snt9b", devices=8, frameworks={"mindspeed-llm": "26.1.0"})
    shape = load().architectures[MODEL]
    make_model(
        data_dir / "models" / "llama",
        num_hidden_layers=shape.num_hidden_layers,
        hidden_size=shape.hidden_size,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        vocab_size=shape.vocab_size,
        rms_norm_eps=1e-5,
        rope_theta=500000.0,
        tie_word_embeddings=True,
    )
    (data_dir / "models" / "llama" / "tokenizer_config.json").write_text("{}")
    train = {**spec["train"], "seq_length": 4096, "train_iters": 4, "save_interval": 2, "global_batch_size": 2}
    asked = {"framework": "mindspeed-llm", "model": MODEL, "model_path": "models/llama", "hardware": "snt9b"}
    return {**spec, **asked, "devices": 2, "train": train}


@pytest.mark.parametrize(
    ("request_of", "stages"),
    [
        ("with_llama_factory", ["preprocess", "train", "export"]),
        ("with_mindspeed_llm", ["preprocess", "convert", "train", "export"]),
    ],
)
def test_a_request_goes_from_the_check_to_the_weights(
    request: pytest.FixtureRequest, request_of: str, stages: list[str], team: Team, alice: User
) -> None:
    run = ended(request.getfixturevalue(request_of), team, alice)
    assert run.state == RunState.SUCCEEDED, run.problems
    assert [(stage.name, stage.state) for stage in run.stages.all()] == [(name, "succeeded") for name in stages]
    assert iterations(run.folder) == [1, 2, 3, 4]
    assert run.metrics["iteration"] == 4
    assert run.leases.count() == 0
    assert (run.folder.output / "model" / "config.json").is_file()


def test_what_the_program_said_last_is_kept_with_the_failure(
    with_llama_factory: dict[str, Any], tmp_path: Path, team: Team, alice: User
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        program.read_text().replace("    for step in range(", "    raise MemoryError(79)\n    for step in range(")
    )
    run = ended(with_llama_factory, team, alice)
    assert run.state == RunState.FAILED
    problem = run.problems[0]
    assert (problem["code"], problem["parameters"]["stage"]) == ("stage.failed", "train")
    assert "MemoryError: 79" in problem["parameters"]["log_tail"]
