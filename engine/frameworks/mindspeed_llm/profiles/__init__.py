"""Version profiles: what a release of MindSpeed-LLM has, and which of its converters can be trusted.

A folder entry here is known from that release's own parsers (see `options`). The site says which one it has
installed by TRAINYARD_MINDSPEED_LLM_RELEASE; without it the commands are for DEFAULT.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from engine.architecture import Architecture
from engine.frameworks.mindspeed_llm.families import Family
from engine.frameworks.mindspeed_llm.profiles.options import Option, options

RELEASE_VARIABLE = "TRAINYARD_MINDSPEED_LLM_RELEASE"
OLD, NEW = "convert_ckpt.py", "convert_ckpt_v2.py"
DEFAULT = "26.1.0"


class UnknownRelease(ValueError):
    """There is no profile of this release; the argument is its name."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One release."""

    release: str
    old_converter: bool
    """Is there `convert_ckpt.py`?"""
    new_types: frozenset[str]
    """What `convert_ckpt_v2.py` takes for --model-type-hf, of the models here."""
    scrambled: frozenset[str] = frozenset()
    """Types whose queries, keys and values its way back to Hugging Face mixes up, without a word."""
    grouped_back: bool = True
    """Can its way back read what the training saved of a model with grouped-query attention?"""

    def options(self, program: str) -> dict[str, Option]:
        return options(program, self.release)

    def converter(self, family: Family) -> str | None:
        """The program that turns the family's weights into Megatron's; None if the release has none."""
        if self.old_converter and family.old_type is not None:
            return OLD
        return NEW if family.new_type in self.new_types else None

    def converts_back(self, family: Family, shape: Architecture) -> bool:
        """Whether the way back gives the right weights."""
        converter = self.converter(family)
        if converter == NEW:
            grouped = shape.latent_attention is None and shape.num_key_value_heads != shape.num_attention_heads
            return family.new_type not in self.scrambled and (self.grouped_back or not grouped)
        return converter is not None


PROFILES = {
    "2.3.0": Profile(release="2.3.0", old_converter=True, new_types=frozenset({"deepseek3"})),
    "26.1.0": Profile(
        release="26.1.0",
        old_converter=True,
        new_types=frozenset({"deepseek3", "llama2", "qwen25"}),
        scrambled=frozenset({"llama2"}),
    ),
    "master": Profile(
        release="master",
        old_converter=False,
        new_types=frozenset({"deepseek3", "llama2", "qwen25"}),
        grouped_back=False,
    ),
}


def chosen(environ: Mapping[str, str] = os.environ) -> Profile:
    """The profile of the release that is installed. Raises UnknownRelease."""
    release = environ.get(RELEASE_VARIABLE) or DEFAULT
    try:
        return PROFILES[release]
    except KeyError:
        raise UnknownRelease(release) from None
