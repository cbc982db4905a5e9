"""What the report says of a dataset is what preprocessing makes of it, to the row, the token and the sequence."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, get_args

import pytest

from engine.dataset_report import DatasetReport
from engine.inspection.__main__ import answer
from engine.inspection.request import Request
from engine.preparation import Preparation
from engine.preprocess import chunking
from engine.spec import DatasetFormat, TrainOn
from tests.engine import native

SEQ_LENGTH = 160
BROKEN = {"unlike": "anything"}


def words(rng: random.Random, most: int) -> str:
    return " ".join(str(rng.randrange(99)) for _ in range(rng.randrange(1, most)))


def row(kind: str, rng: random.Random) -> dict[str, Any]:
    """Some too long, some whose question alone fills the sequence."""
    asked, said = (words(rng, 400 if rng.random() < 0.1 else most) for most in (9, 30))
    made: dict[str, dict[str, Any]] = {
        "alpaca": {"instruction": asked, "output": said, "history": [["Hello?", "Here."]]},
        "sharegpt": {"conversations": [{"from": "human", "value": asked}, {"from": "gpt", "value": said}] * 2},
        "openai": {"messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]},
        "moss": {"chat": {"turn_1": {"Human": asked, "MOSS": said}, "turn_2": {"Human": said, "MOSS": asked}}},
        "text": {"text": f"{asked} {said}"},
    }
    return made[kind]


@pytest.fixture
def dataset(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files with broken rows, of which the second breaks off; chunks and windows end in the midst of them."""
    monkeypatch.setattr(chunking, "CHUNK_ROWS", 7)
    monkeypatch.setattr(chunking, "LEAST_WINDOW", 2000)
    monkeypatch.setattr(chunking, "MOST_WINDOW", 2000)
    folder, rng = tmp_path / "data", random.Random(5)
    folder.mkdir()
    rows = [BROKEN if number % 17 == 3 else row(request.param, rng) for number in range(120)]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows[:80])))
    (folder / "b.json").write_text(json.dumps(rows[80:])[:-30])
    return folder


CASES = [
    pytest.param(kind, learnt, packing, id=f"{kind}-{learnt}-{'packed' if packing else 'apart'}")
    for kind in get_args(DatasetFormat)
    for learnt in (get_args(TrainOn) if kind != "text" else ("every_answer",))
    for packing in (False, True)
]


@pytest.mark.parametrize(("dataset", "train_on", "packing"), CASES, indirect=["dataset"])
def test_the_report_says_what_preprocessing_makes(
    dataset: Path,
    train_on: TrainOn,
    packing: bool,
    tiny_model: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    kind = request.node.callspec.params["dataset"]
    choice = {"path": str(dataset), "format": kind, "train_on": train_on, "broken_rows": "leave_out"}
    file = native.preprocess(
        tmp_path / "run", tiny_model, dataset=choice, seq_length=SEQ_LENGTH, packing=packing,
        stage="pretrain" if kind == "text" else "sft",
    )  # fmt: skip
    made = Preparation.model_validate_json((file.folder.data / "report.json").read_text())
    report, _ = answer(
        Request(
            input=str(dataset), format=kind, tokenizer=str(tiny_model), train_on=train_on, seq_length=SEQ_LENGTH,
            broken_rows="leave_out",
        )
    )  # fmt: skip
    assert isinstance(report, DatasetReport)
    rows, at = report.rows, next(at for at in report.seq_lengths if at.asked)
    assert rows.read == rows.kept + rows.dropped == made.rows_read
    assert (made.rows_kept, made.rows_shortened) == (rows.kept, rows.shortened)
    assert {one.reason: one.rows for one in made.rows_dropped} == {one.reason: one.rows for one in report.drops}
    assert made.files_broken_off == sum(file.broken_off for file in report.files) == 1
    assert made.chat_template == report.template
    assert report.tokens is not None
    assert report.trained is not None
    if kind == "text":
        assert made.tokens == report.tokens.total + rows.kept, "an end token each"
    else:
        assert made.tokens == report.tokens.total - at.tokens_lost
        assert made.trained_tokens == report.trained.tokens - at.trained_tokens_lost
        assert rows.shortened or rows.dropped > rows.broken, "the rows try it"
    assert made.samples == (at.packed_sequences if packing else at.sequences)
    if made.packing is not None:
        assert (made.packing.sequences, made.packing.padding_share) == (at.packed_sequences, at.packed_padding_share)
        assert made.packing.sequences < rows.kept
    assert (made.packing is not None) == (packing and kind != "text")
