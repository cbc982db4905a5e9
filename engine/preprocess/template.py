"""The chat template of a tokenizer: its own, or else its family's, compiled once, and what it does with what.

Templates differ in what they take. Some leave out a system text without a word, or know no tools; what a
template would lose reaches it in another way, which is said in `ChatTemplate.notes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from jinja2 import TemplateError
from tokenizers import AddedToken
from transformers.utils.chat_template_utils import _compile_jinja_template

from engine import families
from engine.failures import Failure

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Turn = dict[str, Any]
"""A message as templates take it: role, content, and tool_calls, reasoning_content or name where there are some."""

DATE = "26 Jul 2024"
"""What a template that writes today's date gets (Llama 3.1's own when it is not told): the same rows always become
the same tokens, on whatever day."""
REFUSALS = (TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What a template raises for a conversation that it does not take; some index and add without looking."""


class Refused(Exception):
    """The template does not take this conversation."""


@dataclass(frozen=True, kw_only=True)
class ChatTemplate:
    source: Literal["tokenizer", "family"]
    name: str
    """Of the family; `tokenizer` for the tokenizer's own."""
    source_text: str
    """As Jinja has it."""
    compiled: Any
    constants: dict[str, Any]
    """Special tokens by name, such as `eos_token`, and the date."""

    def render(self, turns: Sequence[Turn], tools: Any = None, *, opened: bool = False) -> str:
        """The text of a conversation; `opened` for an answer. Raises Refused."""
        try:
            text: str = self.compiled.render(
                messages=turns, tools=tools or None, documents=None, add_generation_prompt=opened, **self.constants
            )
        except REFUSALS as error:
            raise Refused(str(error)) from error
        return text


def choose(tokenizer: PreTrainedTokenizerBase, name: str | None = None, model_type: str = "") -> ChatTemplate:
    """The family's template if one is insisted on, else the tokenizer's own, else that of its family.

    model_type: of config.json, to tell families apart. Raises Failure `preprocess.no_chat_template`,
    `preprocess.unknown_template`, `preprocess.template_tokens` or `preprocess.broken_template`.
    """
    own = tokenizer.chat_template
    if name is None and own:
        return _compiled(tokenizer, "tokenizer", "tokenizer", _own(tokenizer))
    vocabulary = tokenizer.get_vocab()
    chosen = name or families.of(model_type, vocabulary)
    path = str(tokenizer.name_or_path)
    if chosen is None:
        raise Failure("preprocess.no_chat_template", "model_path", path=path, known=", ".join(families.NAMES))
    if chosen not in families.NAMES:
        known = ", ".join(families.NAMES)
        raise Failure("preprocess.unknown_template", "train.dataset.template", template=chosen, known=known)
    family = families.get(chosen)
    lacking = [token for token in family.TOKENS if token not in vocabulary]
    if lacking:
        missing = ", ".join(lacking)
        raise Failure("preprocess.template_tokens", "train.dataset.template", template=chosen, tokens=missing)
    _whole(tokenizer, family.TOKENS)
    return _compiled(tokenizer, "family", chosen, family.TEMPLATE.strip())


def _own(tokenizer: PreTrainedTokenizerBase) -> str:
    """Some tokenizers have several by name; the one that is called default is meant."""
    try:
        return str(tokenizer.get_chat_template())
    except ValueError as error:
        path, reason = str(tokenizer.name_or_path), str(error)[:200]
        raise Failure("preprocess.broken_template", "model_path", path=path, reason=reason) from error


def _whole(tokenizer: PreTrainedTokenizerBase, tokens: tuple[str, ...]) -> None:
    """Markers that are in the vocabulary but are not special there would be taken to pieces: Yi's are so."""
    added = tokenizer.get_added_vocab()
    tokenizer.add_tokens([AddedToken(token, special=True, normalized=False) for token in tokens if token not in added])


def _compiled(
    tokenizer: PreTrainedTokenizerBase, source: Literal["tokenizer", "family"], name: str, template: str
) -> ChatTemplate:
    try:
        compiled = _compile_jinja_template(template)
    except TemplateError as error:
        reason = str(error)[:200]
        raise Failure(
            "preprocess.broken_template", "model_path", path=str(tokenizer.name_or_path), reason=reason
        ) from error
    tokens = {name: str(token) for name, token in tokenizer.special_tokens_map.items() if isinstance(token, str)}
    blank = {"bos_token": "", "eos_token": ""}
    constants = blank | tokens | {"strftime_now": lambda pattern: DATE, "date_string": DATE}
    return ChatTemplate(source=source, name=name, source_text=template, compiled=compiled, constants=constants)
