"""Rows become tokens: the whole conversation is what the chat template says, and only answers are learnt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.failures import Failure
from engine.formats import Message, Sample
from engine.preprocess import chat
from engine.preprocess.store import IGNORED, TokenStore
from engine.samples import CONVERSATIONS, DOCUMENTS
from tests.engine import native

LLAMA2_STYLE = (
    "{% for m in messages %}{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + m['content'] + ' [/INST]' }}"
    "{% else %}{{ ' ' + m['content'] + ' ' + eos_token }}{% endif %}{% endfor %}"
)
TURNS = (
    Message("system", "Be brief."),
    Message("user", "Where is platform 2?"),
    Message("assistant", "All aboard! Over the bridge."),
    Message("user", "谢谢！"),
    Message("assistant", "列车即将出发。"),
)


@pytest.fixture
def tokenizer(tiny_model: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tiny_model)


def encoded(tokenizer: PreTrainedTokenizerBase, *messages: Message) -> tuple[list[int], list[int]]:
    chosen = chat.Chat(tokenizer)
    ids, labels = chosen.encode([chosen.render(Sample(1, messages=messages))])[0]
    return ids.tolist(), labels.tolist()


def learnt(tokenizer: PreTrainedTokenizerBase, labels: list[int]) -> str:
    return tokenizer.decode([label for label in labels if label != IGNORED])


def test_the_tokens_are_those_of_the_chat_template(tokenizer: PreTrainedTokenizerBase) -> None:
    ids, _ = encoded(tokenizer, *TURNS)
    messages = [{"role": m.role, "content": m.content} for m in TURNS]
    assert ids == tokenizer.apply_chat_template(messages)["input_ids"]


def test_only_answers_and_their_end_are_learnt(tokenizer: PreTrainedTokenizerBase) -> None:
    ids, labels = encoded(tokenizer, *TURNS)
    assert learnt(tokenizer, labels) == "All aboard! Over the bridge.<|im_end|>列车即将出发。<|im_end|>"
    assert all(label in (IGNORED, token) for token, label in zip(ids, labels, strict=True))


def test_an_answer_begins_where_the_model_is_asked_to_go_on(tokenizer: PreTrainedTokenizerBase) -> None:
    ids, labels = encoded(tokenizer, *TURNS[:3])
    first = next(place for place, label in enumerate(labels) if label != IGNORED)
    asked = [{"role": m.role, "content": m.content} for m in TURNS[:2]]
    assert ids[:first] == tokenizer.apply_chat_template(asked, add_generation_prompt=True)["input_ids"]


def test_the_mask_follows_another_template_too(tokenizer: PreTrainedTokenizerBase) -> None:
    tokenizer.chat_template = LLAMA2_STYLE
    _, labels = encoded(tokenizer, *TURNS[1:])
    assert learnt(tokenizer, labels) == " All aboard! Over the bridge. <|im_end|> 列车即将出发。 <|im_end|>"


def stage(tmp_path: Path, model: Path, rows: list[dict[str, Any]], **train: Any) -> tuple[TokenStore, dict[str, Any]]:
    data = tmp_path / "rows.json"
    data.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    file = native.preprocess(tmp_path / "run", model, dataset={"path": str(data), "format": "alpaca"}, **train)
    report = json.loads((file.folder.data / "report.json").read_text(encoding="utf-8"))
    return native.store(file), report


def test_what_is_cut_or_dropped_is_counted(tiny_model: Path, tmp_path: Path) -> None:
    rows = [
        {"instruction": "Short?", "output": "Yes."},
        {"instruction": "Count.", "output": " ".join(str(n) for n in range(100))},
        {"instruction": "word " * 200, "output": "Too late."},
    ]
    store, report = stage(tmp_path, tiny_model, rows, seq_length=32)
    assert (report["rows_read"], report["rows_kept"], report["rows_shortened"]) == (3, 2, 1)
    [dropped] = report["rows_dropped"]
    [place] = dropped["examples"]
    assert (dropped["reason"], dropped["rows"]) == ("row.question_fills_seq_length", 1)
    assert (place["file"], place["line"], place["parameters"]["seq_length"]) == ("rows.json", 1, 32)
    assert len(store) == 2
    assert [len(store[n].ids) for n in range(2)] == [report["tokens"] - 32, 32]
    assert store.trained(np.arange(2)) == report["trained_tokens"]


def test_nothing_left_is_a_failure_that_says_why(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(Failure) as failure:
        stage(tmp_path, tiny_model, [{"instruction": "word " * 200, "output": "No."}], seq_length=16)
    assert failure.value.problem.code == "preprocess.no_samples"
    assert "question_fills_seq_length" in str(failure.value.problem.parameters["report"])


def test_a_broken_row_stops_the_stage_with_its_line(tiny_model: Path, tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text('{"instruction": "a", "output": "b"}\n{"instruction": "c"}\n', encoding="utf-8")
    with pytest.raises(Failure) as failure:
        native.preprocess(tmp_path / "run", tiny_model, dataset={"path": str(data), "format": "alpaca"})
    assert failure.value.problem.parameters | {"path": ""} == {
        "path": "", "line": 2, "why": "row.missing_key", "key": "output",
    }  # fmt: skip


def test_conversations_of_several_turns_are_read(tiny_model: Path, tmp_path: Path) -> None:
    dataset = {"path": str(CONVERSATIONS), "format": "sharegpt"}
    file = native.preprocess(tmp_path, tiny_model, dataset=dataset, seq_length=256)
    store = native.store(file)
    ends = [int(np.count_nonzero(store[n].labels == 2)) for n in range(len(store))]
    assert ends == [2, 1, 2]


def test_documents_become_one_stream_cut_into_equal_samples(
    tiny_model: Path, tmp_path: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    dataset = {"path": str(DOCUMENTS), "format": "text"}
    file = native.preprocess(tmp_path, tiny_model, dataset=dataset, stage="pretrain", seq_length=16)
    store = native.store(file)
    rows = [(store[n].ids, store[n].labels) for n in range(len(store))]
    assert {len(ids) for ids, _ in rows[:-1]} == {16}
    assert all((ids == labels).all() for ids, labels in rows)
    text = tokenizer.decode(np.concatenate([ids for ids, _ in rows]))
    lines = DOCUMENTS.read_text(encoding="utf-8").splitlines()
    assert text == "".join(f"{line}<|im_end|>" for line in lines)


def test_tools_reach_the_model_within_the_system_message(tokenizer: PreTrainedTokenizerBase) -> None:
    sample = Sample(1, messages=TURNS, tools="timetable(station)")
    assert "Be brief.\n\ntimetable(station)<|im_end|>" in chat.Chat(tokenizer).render(sample).text


def test_rows_that_were_dropped_or_cut_are_told_to_the_person(tiny_model: Path, tmp_path: Path) -> None:
    from engine.problem_texts import message
    from engine.problems import LANGUAGES, Problem

    data = tmp_path / "rows.json"
    rows = [{"instruction": "a", "output": "b"}, {"instruction": "a", "output": "word " * 99}]
    for number, (more, code, severity) in enumerate(
        [
            ([], "preprocess.rows_shortened", "note"),
            ([{"instruction": "word " * 99, "output": "b"}], "preprocess.rows_dropped", "warning"),
        ]
    ):
        data.write_text(json.dumps(rows + more))
        file = native.preprocess(
            tmp_path / str(number), tiny_model, dataset={"path": str(data), "format": "alpaca"}, seq_length=64
        )
        (told,) = [Problem.model_validate(one["problem"]) for one in native.emitted(file, "problem")]
        assert (told.code, told.severity) == (code, severity)
        assert (told.parameters["read"], told.parameters["shortened"]) == (2 + len(more), 1)
        for language in LANGUAGES:
            assert "64" in message(told, language)
            assert "?" not in message(told, language)


def test_where_nothing_was_cut_nothing_is_told(tiny_model: Path, tmp_path: Path) -> None:
    data = tmp_path / "rows.json"
    data.write_text(json.dumps([{"instruction": "a", "output": "b"}]))
    file = native.preprocess(tmp_path / "run", tiny_model, dataset={"path": str(data), "format": "alpaca"})
    assert native.emitted(file, "problem") == []
