"""Answers of the model before and after the training: what a person can see of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from engine.run_folder import read_json, write_atomic

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

LONGEST_ANSWER = 48
"""New tokens."""


@torch.inference_mode()
def answer(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompt: str, *, chat: bool) -> str:
    """The greedy answer to one prompt, without special tokens."""
    text = opened(tokenizer, prompt) if chat else prompt
    encoded = tokenizer(text, return_tensors="pt", add_special_tokens=not chat)
    ids = encoded["input_ids"]
    made = model.generate(  # type: ignore[operator]
        input_ids=ids,
        attention_mask=encoded["attention_mask"],
        max_new_tokens=LONGEST_ANSWER,
        do_sample=False,
        num_beams=1,
        temperature=None,  # a model folder may ask for sampling; greedy is the same today and tomorrow
        top_p=None,
        top_k=None,
        pad_token_id=tokenizer.eos_token_id,
    )
    decoded = str(tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True))
    return decoded.rstrip("\ufffd").strip()  # the limit may cut a character of several tokens


def opened(tokenizer: PreTrainedTokenizerBase, prompt: str) -> str:
    """The prompt as the chat template puts it, ready for an answer."""
    messages = [{"role": "user", "content": prompt}]
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))


class Samples:
    """`output/samples.json`: [{"prompt", "before", "after"}], where `after` is null until the training is done."""

    def __init__(self, path: Path, prompts: Sequence[str], answer: Callable[[str], str]) -> None:
        self._path, self._prompts, self._answer = path, prompts, answer

    def before(self) -> None:
        """Answer with the untrained model, unless an earlier attempt of this run has done so."""
        kept = read_json(self._path) or []
        if [row["prompt"] for row in kept] == list(self._prompts):
            return
        self._write([{"prompt": prompt, "before": self._answer(prompt), "after": None} for prompt in self._prompts])

    def after(self) -> None:
        rows = read_json(self._path) or []
        self._write([row | {"after": self._answer(row["prompt"])} for row in rows])

    def _write(self, rows: list[dict[str, str | None]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self._path, json.dumps(rows, ensure_ascii=False, indent=2) + "\n")
