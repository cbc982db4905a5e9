"""What MindSpeed-LLM needs to know of a model family beside its dimensions.

Sources: the example scripts of the releases 2.1.0, 2.3.0 and 26.1.0 (`examples/mcore/<family>`) for converters,
templates and switches; norm epsilons from the models' config.json. A family without a template is not offered:
fine-tuning without the right one learns the wrong format and says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.architecture import Architecture


@dataclass(frozen=True, kw_only=True)
class Family:
    prompt_type: str
    """Template of the conversations."""
    norm_epsilon: float
    old_type: str | None
    """--model-type-hf of convert_ckpt.py."""
    new_type: str | None = None
    """--model-type-hf of convert_ckpt_v2.py."""
    tokenizer_file: str = "tokenizer.json"
    """Which file of the model's folder is named to convert_ckpt.py."""
    slow_tokenizer: bool = False
    """Does the fast tokenizer give another vocabulary?"""
    half_rotary: bool = False
    """ChatGLM: half of each head is rotated, by neighbours."""
    packed: bool = False
    """Baichuan: queries, keys and values in one matrix (W_pack)."""


_QWEN = Family(prompt_type="qwen", norm_epsilon=1e-6, old_type="llama2", new_type="qwen25")
_LLAMA3 = Family(prompt_type="llama3", norm_epsilon=1e-5, old_type="llama2", new_type="llama2")
_SENTENCEPIECE = "tokenizer.model"

FAMILIES: dict[str, Family] = {
    "llama2": Family(
        prompt_type="llama2",
        norm_epsilon=1e-5,
        old_type="llama2",
        new_type="llama2",
        tokenizer_file=_SENTENCEPIECE,
        slow_tokenizer=True,
    ),
    "llama3": _LLAMA3,
    "llama3.1": _LLAMA3,
    "llama3.2": _LLAMA3,
    "qwen": Family(prompt_type="qwen", norm_epsilon=1e-6, old_type="qwen", tokenizer_file="qwen.tiktoken"),
    "qwen1.5": _QWEN,
    "qwen2": _QWEN,
    "qwen2.5": _QWEN,
    "yi": Family(
        prompt_type="chatml",
        norm_epsilon=1e-5,
        old_type="llama2",
        new_type="llama2",
        tokenizer_file=_SENTENCEPIECE,
        slow_tokenizer=True,
    ),
    "glm3": Family(
        prompt_type="chatglm3",
        norm_epsilon=1e-5,
        old_type="chatglm3",
        tokenizer_file=_SENTENCEPIECE,
        half_rotary=True,
    ),
    "glm4": Family(
        prompt_type="glm4",
        norm_epsilon=1.5625e-07,
        old_type="chatglm3",
        tokenizer_file=_SENTENCEPIECE,
        half_rotary=True,
    ),
    "baichuan2": Family(
        prompt_type="baichuan2",
        norm_epsilon=1e-6,
        old_type="baichuan2",
        tokenizer_file=_SENTENCEPIECE,
        slow_tokenizer=True,
        packed=True,
    ),
    "mistral": Family(
        prompt_type="mistral",
        norm_epsilon=1e-5,
        old_type="llama2",
        new_type="llama2",
        tokenizer_file=_SENTENCEPIECE,
    ),
    "mixtral": Family(prompt_type="mixtral", norm_epsilon=1e-5, old_type="mixtral", tokenizer_file=_SENTENCEPIECE),
    "deepseek": Family(prompt_type="deepseek3", norm_epsilon=1e-6, old_type=None, new_type="deepseek3"),
}
"""By what a model's name has before its first hyphen."""


def family_of(shape: Architecture) -> Family | None:
    """None for a model that this release writes no MindSpeed-LLM command for, as one that looks at pictures."""
    return FAMILIES.get(shape.model.split("-")[0]) if shape.vision is None else None
