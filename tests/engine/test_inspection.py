"""The report on a dataset, held to counts made in another way; and the view of a row."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.dataset_report import DatasetReport, Place, RowView
from engine.inspection.__main__ import answer
from engine.inspection.duplicates import DuplicateFinder
from engine.inspection.lengths import EXACT, LengthCounts
from engine.inspection.packing import packed_sequences
from engine.inspection.request import Request
from engine.problems import LANGUAGES
from engine.readable.dataset import row_view_text

ROOT = Path(__file__).parents[2]
WORDS = ["the", "train", "for", "platform", "two", "leaves", "at", "nine", "列车", "即将", "出发", "mind", "gap", "🚉"]


def conversation(number: int, words: int) -> dict[str, Any]:
    chooser = random.Random(number)
    said = [" ".join(chooser.choices(WORDS, k=1 + (words * part) // 3)) for part in (1, 2, 3)]
    return {"instruction": f"{number} {said[0]}", "output": said[1], "history": [[said[2], said[0]]] * (number % 2)}


ROWS = [conversation(number, 5 + 7 * (number % 40)) for number in range(300)]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS))
    return path


@pytest.fixture
def tokenizer(tiny_model: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tiny_model)


def report(path: Path, **asked: Any) -> DatasetReport:
    found, _ = answer(Request(input=str(path), **asked))
    assert isinstance(found, DatasetReport)
    return found


def view(path: Path, row: int, **asked: Any) -> RowView:
    found, _ = answer(Request(input=str(path), row=row, **asked))
    assert isinstance(found, RowView)
    return found


def by_the_template(tokenizer: PreTrainedTokenizerBase, row: dict[str, Any]) -> tuple[list[int], list[bool]]:
    """Ids by the tokenizer's own template, and which are learnt: each answer with its end, found turn by turn."""
    turns = [turn for pair in [*row["history"], [row["instruction"], row["output"]]] for turn in pair]
    messages = [{"role": ("user", "assistant")[n % 2], "content": turn} for n, turn in enumerate(turns)]
    ids = tokenizer.apply_chat_template(messages)["input_ids"]
    learnt = [False] * len(ids)
    for end in range(2, len(messages) + 1, 2):
        asked = tokenizer.apply_chat_template(messages[: end - 1], add_generation_prompt=True)["input_ids"]
        said = tokenizer.apply_chat_template(messages[:end])["input_ids"]
        last = len(said) - 1 - said[::-1].index(tokenizer.convert_tokens_to_ids("<|im_end|>"))
        learnt[len(asked) : last + 1] = [True] * (last + 1 - len(asked))
    return ids, learnt


def test_every_figure_is_what_the_template_and_a_plain_loop_give(
    dataset: Path, tiny_model: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    rows = [by_the_template(tokenizer, row) for row in ROWS]
    lengths = sorted(len(ids) for ids, _ in rows)
    found = report(dataset, tokenizer=str(tiny_model), seq_length=100)
    assert found.tokens is not None
    assert found.trained is not None
    assert (found.tokens.total, found.tokens.shortest, found.tokens.longest) == (sum(lengths), lengths[0], lengths[-1])
    for share, value in (
        (50, found.tokens.p50),
        (90, found.tokens.p90),
        (95, found.tokens.p95),
        (99, found.tokens.p99),
    ):
        assert value == np.percentile(lengths, share, method="inverted_cdf")
    assert sum(bar.rows for bar in found.tokens.histogram) == len(rows)
    assert found.trained.tokens == sum(sum(learnt) for _, learnt in rows)
    for at in found.seq_lengths:
        kept = [(ids, learnt) for ids, learnt in rows if any(learnt[: at.seq_length])]
        over = [ids for ids, _ in kept if len(ids) > at.seq_length]
        assert (at.rows_cut, at.rows_dropped) == (len(over), len(rows) - len(kept))
        assert at.rows_whole + at.rows_cut + at.rows_dropped == len(rows)
        assert at.rows_at_or_over == sum(length >= at.seq_length for length in lengths)
        seen = sum(min(len(ids), at.seq_length) for ids, _ in kept)
        assert at.tokens_lost == sum(lengths) - seen
        assert at.trained_tokens_lost == found.trained.tokens - sum(sum(one[: at.seq_length]) for _, one in kept)
        assert at.padding_share == pytest.approx(1 - seen / (len(kept) * at.seq_length), abs=1e-6)
        assert -(-seen // at.seq_length) <= at.packed_sequences <= len(kept)
        assert at.packed_padding_share == pytest.approx(1 - seen / (at.packed_sequences * at.seq_length), abs=1e-6)
    asked = next(at for at in found.seq_lengths if at.asked)
    assert (asked.seq_length, found.rows.shortened) == (100, asked.rows_cut)
    assert (found.rows.kept, found.rows.dropped) == (300 - asked.rows_dropped, asked.rows_dropped)
    assert asked.rows_cut, "the rows try it"
    assert asked.rows_dropped, "the rows try it"


def test_the_view_of_a_row_is_what_is_trained(
    dataset: Path, tiny_model: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    for row in (1, 4, 150, 300):
        ids, learnt = by_the_template(tokenizer, ROWS[row - 1])
        seen = view(dataset, row, tokenizer=str(tiny_model), seq_length=100)
        assert seen.tokens is not None
        assert [token.id for token in seen.tokens] == ids
        assert [token.trained for token in seen.tokens] == learnt
        assert (seen.token_count, seen.trained_tokens, seen.rows) == (len(ids), sum(learnt), 300)
        assert json.loads(seen.raw) == ROWS[row - 1]
        whole = "".join(token.text for token in seen.tokens if not token.part or token.part.startswith("1/"))
        assert whole == seen.rendered == tokenizer.decode(ids)
        assert seen.cut is not None
        assert seen.cut.position == (100 if len(ids) > 100 else None)
        assert seen.cut.tokens_lost == max(0, len(ids) - 100)
        assert {token.text for token in seen.tokens if token.special} == {"<|im_start|>", "<|im_end|>"}


def test_a_long_row_is_seen_in_parts(dataset: Path, tiny_model: Path) -> None:
    whole = view(dataset, 40, tokenizer=str(tiny_model))
    part = view(dataset, 40, tokenizer=str(tiny_model), first_token=10, most_tokens=5)
    assert whole.tokens is not None
    assert part.tokens == whole.tokens[10:15]
    assert part.token_count == whole.token_count


def test_a_character_of_several_tokens_says_its_parts(tmp_path: Path, tiny_model: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"instruction": "a", "output": "𝌆"}))
    tokens = view(tmp_path / "rows.jsonl", 1, tokenizer=str(tiny_model)).tokens or ()
    parts = [token.part for token in tokens if token.text == "𝌆"]
    assert parts == [f"{number + 1}/{len(parts)}" for number in range(len(parts))]
    assert len(parts) > 1


def test_a_row_that_is_not_there_is_refused(dataset: Path) -> None:
    found, code = answer(Request(input=str(dataset), row=301))
    assert isinstance(found, DatasetReport)
    assert code == 2
    assert [problem.code for problem in found.problems] == ["dataset.no_such_row"]


def test_rows_are_counted_through_all_files(tmp_path: Path, dataset: Path) -> None:
    (tmp_path / "later.json").write_text(json.dumps(ROWS[:3]))
    found = report(tmp_path)
    assert [(file.path, file.first_row, file.rows.read) for file in found.files] == [
        ("later.json", 1, 3), ("rows.jsonl", 4, 300),
    ]  # fmt: skip
    assert view(tmp_path, 4).place == Place(file=1, row=4, line=1)
    assert found.duplicates.rows == 3
    assert found.duplicates.examples[0].again == Place(file=1, row=4, line=1)


def test_documents_are_joined_and_lose_nothing(
    tmp_path: Path, tiny_model: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    texts = [" ".join(random.Random(number).choices(WORDS, k=number)) for number in range(1, 200)]
    (tmp_path / "rows.txt").write_text("\n".join(texts))
    found = report(tmp_path / "rows.txt", tokenizer=str(tiny_model), seq_length=512)
    stream = sum(len(tokenizer(text, add_special_tokens=False)["input_ids"]) + 1 for text in texts)
    assert (found.joined, found.rows.kept, found.rows.shortened, found.template) == (True, 199, 0, None)
    assert found.seq_lengths[0].sequences == stream // 512 + (stream % 512 > 1)
    assert {at.tokens_lost for at in found.seq_lengths} == {0}


def test_tokens_that_the_model_lacks_are_found(tmp_path: Path, dataset: Path, tiny_model: Path) -> None:
    """Yi's tokenizer knows 64,000 tokens where the model has 63,992."""
    import shutil

    folder = Path(shutil.copytree(tiny_model, tmp_path / "model"))
    config = json.loads((folder / "config.json").read_text())
    known = len(AutoTokenizer.from_pretrained(folder))
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": known - 8}))
    unused = report(dataset, tokenizer=str(folder))
    assert unused.vocabulary is not None
    assert (unused.vocabulary.size, unused.vocabulary.model_size, unused.vocabulary.outside_count) == (
        known,
        known - 8,
        8,
    )
    used = [problem.code for problem in unused.problems if problem.code.endswith("vocabulary")]
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 5}))
    none = report(dataset, tokenizer=str(folder))
    assert used in (["dataset.larger_vocabulary"], ["dataset.outside_vocabulary"])
    assert none.outside_vocabulary is not None
    assert none.outside_vocabulary.rows == 300
    assert (none.problems[0].code, none.usable) == ("dataset.outside_vocabulary", False)


def test_other_names_of_columns_are_seen_and_used(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "a", "answer": "b"}\n')
    found = report(tmp_path / "rows.jsonl")
    assert found.rows.kept == 1
    assert found.files[0].format.columns == {"prompt": "question", "response": "answer"}


def test_another_format_than_it_looks_like_is_said(dataset: Path) -> None:
    found = report(dataset, format="sharegpt")
    assert (found.files[0].format.sniffed, found.files[0].format.differs) == ("alpaca", True)
    assert not found.usable
    assert "dataset.other_format_in" in {problem.code for problem in found.problems}


def test_equal_rows_are_found_beyond_memory() -> None:
    chooser = random.Random(5)
    contents = [str(chooser.randrange(20_000)).encode() for _ in range(50_000)]
    first: dict[bytes, int] = {}
    repeats = [(first.setdefault(content, row), row) for row, content in enumerate(contents, start=1)]
    expected = [pair for pair in repeats if pair[0] != pair[1]]
    with DuplicateFinder() as finder:
        for row, content in enumerate(contents, start=1):
            finder.add(content, Place(file=0, row=row, line=row))
        found = finder.found(10)
    assert found.rows == len(expected)
    assert [(pair.first.row, pair.again.row) for pair in found.examples] == expected[:10]


def test_lengths_beyond_the_exact_ones_are_near() -> None:
    counts = LengthCounts()
    counts.add([10, EXACT, EXACT + 1, 3_000_003])
    summary = counts.summary("characters")
    assert summary.longest == 3_000_003
    assert summary.p99 == pytest.approx(3_000_003, rel=2e-3)
    assert sum(bar.rows for bar in summary.histogram) == 4


@pytest.mark.parametrize("seed", range(20))
def test_packing_in_counts_is_packing_row_by_row(seed: int) -> None:
    chooser = random.Random(seed)
    lengths = [chooser.randint(1, 60) for _ in range(chooser.randint(1, 80))]
    left, sequences = sorted(lengths), 0
    while left:
        room, sequences = 60, sequences + 1
        while fits := [length for length in left if length <= room]:
            left.remove(fits[-1])
            room -= fits[-1]
    assert packed_sequences(Counter(lengths).items(), 60) == sequences


def test_the_command_writes_the_report_and_the_list(dataset: Path, tmp_path: Path) -> None:
    with dataset.open("a") as file:
        file.write("\n{")
    output = tmp_path / "out.json"
    command = [sys.executable, "-m", "engine", "inspect", "--input", str(dataset), "--output", str(output), "--json"]
    command += ["--handler-name", "AlpacaStyleInstructionHandler", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (2, ""), "a training would refuse it"
    done = subprocess.run([*command, "--broken-rows", "leave_out"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    found = DatasetReport.model_validate_json(done.stdout)
    assert DatasetReport.model_validate_json(output.read_text()) == found
    assert found.rows.model_dump() == {"read": 301, "kept": 300, "dropped": 1, "shortened": 0, "broken": 1}
    [line] = (tmp_path / "out.drops.jsonl").read_text().splitlines()
    assert (json.loads(line)["row"], json.loads(line)["reason"]) == (301, "json.syntax")


def test_a_stopped_inspection_leaves_no_half_list(tmp_path: Path) -> None:
    """TERM reaches the process behind the command, which takes its unfinished list away."""
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(ROWS[0]) for _ in range(400_000)))
    command = [sys.executable, "-m", "engine", "inspect", "--input", str(tmp_path / "rows.jsonl"), "--progress"]
    command += ["--output", str(tmp_path / "out.json")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT) as process:
        assert process.stderr is not None
        told = json.loads(process.stderr.readline())
        process.terminate()
        assert process.wait(60) == 130
    assert 0 < told["rows"] < 400_000
    assert 0 < told["bytes"] <= told["size"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl"]


@pytest.mark.parametrize("options", [["--packing"], []])
def test_preprocessing_keeps_what_the_report_says(
    dataset: Path, tmp_path: Path, tiny_model: Path, options: list[str]
) -> None:
    command = [sys.executable, "-m", "engine", "preprocess", "--input", str(dataset), "--seq-length", "100", *options]
    command += ["--output-prefix", str(tmp_path / "set" / "x"), "--tokenizer-name-or-path", str(tiny_model)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "set" / "x_report.json").read_text())
    found = report(dataset, tokenizer=str(tiny_model), seq_length=100)
    at = next(one for one in found.seq_lengths if one.asked)
    assert found.tokens is not None
    assert found.trained is not None
    assert (made["rows_read"], made["rows_kept"]) == (found.rows.read, found.rows.kept)
    assert (made["rows_shortened"], made["tokens"]) == (found.rows.shortened, found.tokens.total - at.tokens_lost)
    assert made["trained_tokens"] == found.trained.tokens - at.trained_tokens_lost
    expected = at.packed_sequences if options else at.sequences
    assert made["samples"] == pytest.approx(expected, rel=0.05 if options else 0)


def test_a_fast_tokenizer_that_differs_is_left_and_all_is_read_again(
    dataset: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.preprocess.encoder import Differs, Encoder

    expected = report(dataset, tokenizer=str(tiny_model), seq_length=100)
    real, refused = Encoder.encode, []

    def differing(encoder: Encoder, texts: Any) -> Any:
        if not refused:
            refused.append(texts)
            raise Differs("late")
        return real(encoder, texts)

    monkeypatch.setattr(Encoder, "encode", differing)
    found = report(dataset, tokenizer=str(tiny_model), seq_length=100)
    assert refused
    assert found.model_copy(update={"seconds": 0}) == expected.model_copy(update={"seconds": 0})


def test_a_row_that_is_too_long_to_wait_for_shows_its_first_tokens(tiny_model: Path, tmp_path: Path) -> None:
    row = {"instruction": "Say it.", "output": "word " * 1_500_000}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    request = Request(input=str(tmp_path / "rows.jsonl"), tokenizer=str(tiny_model), seq_length=64, row=1)
    began = time.process_time()
    view, _ = answer(request)
    assert time.process_time() - began < 15, "of a processor; it takes about three"
    assert isinstance(view, RowView)
    assert view.tokens is not None
    assert (view.tokenized, view.token_count, view.cut) == (1 << 18, None, None)
    assert (len(view.tokens), view.tokens[-1].trained) == (request.most_tokens, True)
    for language in LANGUAGES:
        assert "262144" in row_view_text(view, language)


def test_a_report_that_cannot_be_written_is_said_and_a_device_is_not_replaced(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text('{"text": "a"}\n')

    def ask(output: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "engine", "inspect", "--input", str(data), "--output", str(output)]
        return subprocess.run([*command, "--cache-dir", str(tmp_path / "cache")], capture_output=True, text=True)

    (tmp_path / "folder").mkdir()
    refused = ask(tmp_path / "folder")
    assert (refused.returncode, "Traceback" in refused.stderr) == (3, False)
    assert str(tmp_path / "folder") in refused.stderr
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert ask(pipe).returncode == 0
        assert b"report_version" in os.read(reader, 1 << 16)
    finally:
        os.close(reader)
    assert pipe.is_fifo()
