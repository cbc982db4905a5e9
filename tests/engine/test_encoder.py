"""The fast tokenizer is only used where it gives what the exact one gives."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from engine.preprocess.encoder import PIECES, Differs, Encoder


def texts(count: int) -> list[str]:
    rng = random.Random(3)
    pieces = [*PIECES, "<|im_end|>", "<|im_start|>", "platform", " station", "即", "出"]
    return ["".join(rng.choices(pieces, k=rng.randrange(40))) for _ in range(count)]


def test_the_ids_are_those_of_the_exact_tokenizer(tiny_model: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    encoder = Encoder(tokenizer)
    assert encoder.fast
    some = texts(2000)
    exact = tokenizer.backend_tokenizer.encode_batch_fast(some, add_special_tokens=False)
    assert [ids.tolist() for ids in encoder.encode(some)] == [one.ids for one in exact]


def test_a_tokenizer_that_the_fast_one_does_not_know_is_used_as_it_is() -> None:
    backend = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    backend.normalizer = normalizers.Replace("c", "b")
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    encoder = Encoder(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert not encoder.fast
    assert [ids.tolist() for ids in encoder.encode(["a b", "c d"])] == [[0, 1], [1, 2]]


def test_what_a_tokenizer_file_says_of_cutting_and_padding_is_left_out(tiny_model: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    tokenizer.backend_tokenizer.enable_truncation(3)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    for exact_only in (False, True):
        ids = Encoder(tokenizer, exact_only).encode(["platform", "one two three four five"])
        assert tokenizer.decode(ids[1]) == "one two three four five"
        assert tokenizer.decode(ids[0]) == "platform"


def test_a_difference_in_a_real_text_is_noticed(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder(AutoTokenizer.from_pretrained(tiny_model))
    honest: Any = encoder._fast

    class Lying:
        def encode(self, text: str) -> Any:
            ids = honest.encode(text)
            return ids[:-1] if text == "lie" else ids

    encoder._fast = Lying()
    encoder.encode(["truth"])
    with pytest.raises(Differs):
        encoder.encode(["lie"])


def test_a_new_fast_tokenizer_takes_over_from_time_to_time(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.preprocess import encoder as module

    monkeypatch.setattr(module, "REFRESH_CHARACTERS", 1000)
    encoder = Encoder(AutoTokenizer.from_pretrained(tiny_model))
    first = encoder._fast
    encoder.encode(["x" * 600])
    assert encoder._fast is first
    encoder.encode(["x" * 600])
    assert encoder._fast is not first


def test_pieces_of_sentencepiece_are_the_same_too() -> None:
    backend = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    special = ["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=special[:3], show_progress=False)
    backend.train_from_iterator(texts(300), trainer)
    encoder = Encoder(PreTrainedTokenizerFast(tokenizer_object=backend))
    some = texts(500)
    exact = backend.encode_batch_fast(some, add_special_tokens=False)
    assert [ids.tolist() for ids in encoder.encode(some)] == [one.ids for one in exact]


def test_letters_that_are_newer_than_the_tables_of_one_library_are_encoded_exactly() -> None:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    some = [f"a{chr(code)}bc it{chr(code)}'ll {chr(code)}!" for code in (*range(0x33300, 0x33340), 0x1FACD, 0x16EA0)]
    trainer = trainers.BpeTrainer(
        vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    backend.train_from_iterator(some, trainer)
    encoder = Encoder(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert encoder.fast
    exact = backend.encode_batch_fast(some, add_special_tokens=False)
    assert [ids.tolist() for ids in encoder.encode(some)] == [one.ids for one in exact]


def test_a_panic_of_the_fast_tokenizer_counts_as_a_difference(tiny_model: Path) -> None:
    class PanicException(BaseException):
        """As Rust's reach Python."""

    class Panics:
        def encode(self, text: str) -> None:
            raise PanicException(text)

    encoder = Encoder(AutoTokenizer.from_pretrained(tiny_model))
    encoder._fast = Panics()
    with pytest.raises(Differs):
        encoder.encode(["anything"])
