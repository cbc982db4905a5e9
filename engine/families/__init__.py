"""Families of models: how each spells a conversation, for tokenizers that do not say so themselves.

A file here is a family, and its name is the family's name, which a job may insist on (`train.dataset.template`):

    TEMPLATE       a Jinja template, as in Hugging Face's `chat_template`
    TOKENS         special tokens that it writes; a tokenizer without one of them is of another family
    MODEL_TYPES    `model_type` of config.json of the models that were taught it

A template gets `messages` of `role` and `content`, with the roles system, user and assistant, `bos_token`,
`eos_token` and `add_generation_prompt`. Tools reach it as text (`engine.preprocess.chat`).
"""

from __future__ import annotations

from collections.abc import Container
from importlib import import_module
from typing import Protocol, cast

NAMES = (
    "llama3", "yi", "chatml", "qwen", "glm4", "chatglm3", "baichuan2", "deepseek3", "mistral", "llama2",
)  # fmt: skip
"""In the order in which they are tried for a tokenizer: the sure ones first."""


class Family(Protocol):
    """What each family's module offers."""

    TEMPLATE: str
    TOKENS: tuple[str, ...]
    MODEL_TYPES: tuple[str, ...]


def get(name: str) -> Family:
    """The family of this name, imported on first use. Raises KeyError for an unknown one."""
    if name not in NAMES:
        raise KeyError(name)
    return cast(Family, import_module(f"engine.families.{name}"))


def of(model_type: str, tokens: Container[str]) -> str | None:
    """The name of the family of a tokenizer: it knows all tokens of the template, and the model is of its type.

    tokens: the tokenizer's special tokens by text. Without a known model type the tokens decide alone, so that
    families without tokens of their own (llama2, mistral) are never guessed then.
    """
    for name in NAMES:
        family = get(name)
        known = all(token in tokens for token in family.TOKENS)
        if known and (model_type in family.MODEL_TYPES or (not model_type and family.TOKENS)):
            return name
    return None
