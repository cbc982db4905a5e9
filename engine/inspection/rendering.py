"""Rows become tokens exactly as preprocessing makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from engine.dataset_report import TemplateChoice, Vocabulary
from engine.failures import Failure
from engine.formats import Sample
from engine.inspection.rows import Encoded, Refused
from engine.model_folder import read_json_object
from engine.preprocess.chat import Chat, Rendered, Unusable
from engine.preprocess.encoder import use_exact
from engine.preprocess.offsets import Encoder
from engine.preprocess.store import IGNORED
from engine.roots import Roots
from engine.spec import TrainOn

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FIELD = "model_path"
SHOWN = 5
"""Tokens that are named."""


class Rendering:
    """A tokenizer, and the template of its conversations, which is chosen when the first one comes."""

    def __init__(
        self, folder: str, template: str | None, train_on: TrainOn, roots: Roots, *, exact: bool = False
    ) -> None:
        """Raises Failure if there is no fast tokenizer. exact: see `use_exact`."""
        from engine.weights.load import load_tokenizer

        self.tokenizer: PreTrainedTokenizerBase = load_tokenizer(folder, roots)
        if not self.tokenizer.is_fast:
            raise Failure("weights.slow_tokenizer", FIELD, path=folder)
        self._backend: Any = cast(Any, self.tokenizer).backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        self._name, self._train_on = template, train_on
        self._config = read_json_object(Path(folder) / "config.json") or {}
        self._chat: Chat | None = None
        if exact:
            use_exact(self.tokenizer)
        self._encoder = Encoder(self.tokenizer)

    def use_exact(self) -> None:
        """From here on without the faster library: it takes time to begin, and is not sure to agree (`Differs`)."""
        use_exact(self.tokenizer)
        self._encoder = Encoder(self.tokenizer)

    @property
    def chat(self) -> Chat:
        """Raises Failure if there is no template that could be used."""
        if self._chat is None:
            model_type = str(self._config.get("model_type") or "")
            self._chat = Chat(self.tokenizer, self._name, self._train_on, model_type)
        return self._chat

    @property
    def template(self) -> TemplateChoice | None:
        """None if no conversation has come."""
        return None if self._chat is None else self._chat.choice()

    def vocabulary(self) -> Vocabulary:
        known: dict[str, int] = self.tokenizer.get_vocab()
        size = self._model_size()
        outside = sorted((number, token) for token, number in known.items() if size is not None and number >= size)
        return Vocabulary(
            size=len(known),
            largest_id=max(known.values(), default=-1),
            model_size=size,
            outside_count=len(outside),
            outside=tuple(token for _, token in outside[:SHOWN]),
        )

    def _model_size(self) -> int | None:
        for part in (self._config, self._config.get("text_config")):
            size = part.get("vocab_size") if isinstance(part, dict) else None
            if isinstance(size, int) and not isinstance(size, bool) and size > 0:
                return size
        return None

    def render(self, sample: Sample) -> Rendered | Refused:
        """The text of a row, and what is learnt of it."""
        if sample.text is not None:
            return Rendered(sample.text, ((0, len(sample.text)),))
        try:
            return self.chat.render(sample)
        except Unusable as unusable:
            return Refused(f"row.{unusable}")

    def encode(self, samples: Sequence[Sample]) -> Iterator[Encoded | Refused]:
        """Every row in its order."""
        rendered = [self.render(sample) for sample in samples]
        usable = [row for row in rendered if isinstance(row, Rendered)]
        rows = iter(self.tokens(usable))
        for row in rendered:
            yield row if isinstance(row, Refused) else next(rows)

    def tokens(self, rows: Sequence[Rendered]) -> Iterator[Encoded]:
        """Documents need no template, so that a tokenizer without one will do for them."""
        for ids, labels in self._encoder.rows([row.text for row in rows], [row.spans for row in rows]):
            learnt = labels != IGNORED
            learnt[:1] = False  # nothing stands before it to predict it from
            yield Encoded(ids, learnt)

    def offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids of a text, and for each the characters that it stands for."""
        encoding = self._backend.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def special(self, number: int) -> bool:
        known = self._backend.get_added_tokens_decoder().get(number)
        return known is not None and bool(known.special)
