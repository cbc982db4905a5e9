"""Token files are Megatron's: its own reader finds in them what was written."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer

from engine.dataset_files import KEYS, stem
from engine.preprocess.indexed import IndexedReader, NotIndexed
from engine.preprocess.store import IGNORED
from engine.preprocess.writing import Mark, TokenFiles
from engine.samples import DOCUMENTS, STATION_MASTER
from tests.engine import native


def megatron(prefix: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from megatron.core.datasets.indexed_dataset import IndexedDataset
    return IndexedDataset(str(prefix))


def write(folder: Path, rows: list[list[int]]) -> Path:
    files = TokenFiles(folder, ["text"], Mark())
    for row in rows:
        files.add(np.array([len(row)], np.int32), np.array(row, np.int32))
    files.finish()
    return folder / stem("text")


@pytest.mark.parametrize("count", [1, 3, 70_000])
def test_megatron_reads_every_token_length_and_document(tmp_path: Path, count: int) -> None:
    rng = np.random.default_rng(count)
    lengths = rng.integers(0, 9, count).astype(np.int32)
    tokens = rng.integers(-100, 2**31 - 1, int(lengths.sum())).astype(np.int32)
    files = TokenFiles(tmp_path, ["text"], Mark())
    files.add(lengths, tokens)
    files.finish()
    theirs, ours = megatron(tmp_path / stem("text")), IndexedReader(tmp_path / stem("text"))
    assert theirs.index.dtype is np.int32
    assert np.array_equal(theirs.sequence_lengths, lengths)
    assert np.array_equal(theirs.document_indices, np.arange(count + 1))
    assert np.array_equal(ours.documents, theirs.document_indices)
    ends = np.cumsum(lengths)
    for number in {0, count // 2, count - 1}:
        row = tokens[ends[number] - lengths[number] : ends[number]]
        assert np.array_equal(theirs[number], row)
        assert np.array_equal(ours[number], row)


def test_what_megatron_writes_is_read(tmp_path: Path) -> None:
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

    builder = IndexedDatasetBuilder(str(tmp_path / "theirs.bin"), np.int32)
    for row in ([1, 2, 3], [-100, 5]):
        builder.add_document(np.array(row, np.int32), [len(row)])
    builder.finalize(str(tmp_path / "theirs.idx"))
    ours = write(tmp_path, [[1, 2, 3], [-100, 5]])
    for ending in ("bin", "idx"):
        assert (tmp_path / f"theirs.{ending}").read_bytes() == ours.with_name(f"{ours.name}.{ending}").read_bytes()


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    prefix = write(tmp_path, [[1, 2, 3]])
    whole = prefix.with_name(f"{prefix.name}.bin").read_bytes()
    prefix.with_name(f"{prefix.name}.bin").write_bytes(whole[:-4])
    with pytest.raises(NotIndexed, match="8 bytes, its index says 12"):
        IndexedReader(prefix)
    prefix.with_name(f"{prefix.name}.idx").write_bytes(b"MMIDIDX")
    with pytest.raises(NotIndexed, match="cut off"):
        IndexedReader(prefix)


def test_conversations_are_three_sets_of_the_same_lengths(tiny_model: Path, tmp_path: Path) -> None:
    file = native.preprocess(tmp_path / "run", tiny_model, seq_length=48)
    report = json.loads((file.folder.data / "report.json").read_text(encoding="utf-8"))
    ids, mask, labels = (megatron(file.folder.data / f"dataset_{stem(key)}") for key in KEYS["sft"])
    assert np.array_equal(ids.sequence_lengths, mask.sequence_lengths)
    assert np.array_equal(ids.sequence_lengths, labels.sequence_lengths)
    assert (len(ids), int(ids.sequence_lengths.sum())) == (report["samples"], report["tokens"])
    assert sum(int((labels[n][1:] != IGNORED).sum()) for n in range(len(labels))) == report["trained_tokens"]
    assert all((mask[n] == 1).all() for n in range(len(mask)))
    assert all(((labels[n] == ids[n]) | (labels[n] == IGNORED)).all() for n in range(len(ids)))


def test_every_document_is_one_of_megatron_s(tiny_model: Path, tmp_path: Path) -> None:
    dataset = {"path": str(DOCUMENTS), "format": "text"}
    file = native.preprocess(tmp_path / "run", tiny_model, dataset=dataset, stage="pretrain", seq_length=16)
    theirs = megatron(file.folder.data / "dataset_text_document")
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    lines = DOCUMENTS.read_text(encoding="utf-8").splitlines()
    assert [tokenizer.decode(theirs[n]) for n in range(len(theirs))] == [f"{line}<|im_end|>" for line in lines]


def test_packed_sequences_hold_every_sample_once(tiny_model: Path, tmp_path: Path) -> None:
    alone = native.preprocess(tmp_path / "alone", tiny_model, seq_length=96)
    packed = native.preprocess(tmp_path / "packed", tiny_model, seq_length=96, packing=True)
    ids, mask, labels = (megatron(packed.folder.data / f"dataset_{stem(key)}") for key in KEYS["sft"])
    assert set(ids.sequence_lengths.tolist()) == {96}
    assert len(ids) < 0.8 * len(json.loads(STATION_MASTER.read_text(encoding="utf-8")))
    found = []
    for number in range(len(ids)):
        counted = mask[number]
        assert np.array_equal(counted[counted > 0], np.sort(counted[counted > 0]))
        assert (labels[number][counted == 0] == IGNORED).all()
        for one in range(1, counted.max() + 1):
            found.append((ids[number][counted == one].tolist(), labels[number][counted == one].tolist()))
    store = native.store(alone)
    assert sorted(found) == sorted((store[n].ids.tolist(), store[n].labels.tolist()) for n in range(len(store)))
