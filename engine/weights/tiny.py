"""A tiny random-weight Llama with a tokenizer of its own: stands in for the sample model, and serves tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from engine.samples import STATION_MASTER
from engine.weights.folder import whole_folder

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def make(destination: Path, *, seed: int = 1234, hidden_size: int = 64, layers: int = 2, vocab: int = 1024) -> Path:
    """Write the model to `destination` as a whole; the same arguments give the same bytes of weights."""
    with whole_folder(destination) as folder:
        write(folder, seed=seed, hidden_size=hidden_size, layers=layers, vocab=vocab)
    return destination


def write(folder: Path, *, seed: int = 1234, hidden_size: int = 128, layers: int = 2, vocab: int = 2048) -> None:
    """Write weights and tokenizer into an existing folder. `hidden_size` is a multiple of 32."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from engine.weights.load import quiet_transformers

    quiet_transformers()
    _write_tokenizer(folder, vocab)
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=hidden_size,
        intermediate_size=2 * hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        LlamaForCausalLM(config).save_pretrained(str(folder))


def _write_tokenizer(folder: Path, vocab: int) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(_texts(), trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token=SPECIAL[0],
        bos_token=SPECIAL[1],
        eos_token=SPECIAL[2],
        pad_token=SPECIAL[2],
        model_max_length=2048,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(str(folder))


def _texts() -> Iterator[str]:
    for row in json.loads(STATION_MASTER.read_text(encoding="utf-8")):
        yield f"{row['instruction']} {row['output']}"
